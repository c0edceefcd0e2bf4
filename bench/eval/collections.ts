// Judged collections, read from their published files.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { Unusable } from '../../gateway/src/commands/support/client.ts';

export interface Document {
  id: string;
  /** The input of save_memory, besides the scope. Documents of one thread are saved in the order of the list. */
  input: {
    content: string;
    kind: string;
    projectId: string;
    threadId?: string;
    timestamp?: string;
    envelope?: Record<string, unknown>;
  };
}

export interface Query {
  text: string;
  project: string;
  /** The ids of documents. */
  relevant: string[];
  /** What kind of question it is, where figures differ by it. */
  category?: string;
}

export interface Collection {
  documents: Document[];
  queries: Query[];
}

const text = z.union([z.string(), z.number()]).transform(String);
const documents = z.array(z.looseObject({ id: text, body: z.string(), title: z.string().default('') }));
const queries = z.array(z.looseObject({ query: z.string() }));
const judgements = z.array(z.looseObject({ query_num: z.coerce.number().int(), id: text }));

/** Cranfield: 1,400 abstracts on aerodynamics, 225 queries. Every document judged for a query counts as relevant. */
function cranfield(folder: string): Collection {
  const relevant = new Map<number, string[]>();
  for (const { query_num, id } of read(folder, 'cran_qrels.json', judgements)) {
    relevant.set(query_num, [...(relevant.get(query_num) ?? []), id]);
  }
  const project = 'cranfield';
  return {
    documents: read(folder, 'cran_docs.json', documents).map(({ id, body, title }) => ({
      id,
      input: { content: body, kind: 'abstract', projectId: project, envelope: { doc_id: id, title } },
    })),
    // query_num is the position of a query in its file, from 1; the numbers in the file have gaps.
    queries: read(folder, 'cran_queries.json', queries).map(({ query }, index) => ({
      text: query,
      project,
      relevant: relevant.get(index + 1) ?? [],
    })),
  };
}

const turns = z.array(
  z.object({
    id: text,
    project: z.string(),
    thread: z.string(),
    position: z.int(),
    speaker: z.string(),
    text: z.string(),
  }),
);
const questions = z.array(z.object({ project: z.string(), query: z.string(), relevant: z.array(text) }));

/** Questions about a discussion as a whole, whose answer is a stretch of turns rather than one. */
const GENERAL =
  /^(summari[sz]e|what did (the (meeting|group|team)|they) (discuss|talk)|what (was|were) the (discussion|debate|statements)\b)/i;

/** QMSum: meetings turn by turn in four projects, with questions and the turns that answer them. */
function qmsum(folder: string): Collection {
  const said = read(folder, 'turns.jsonl', turns).sort((a, b) =>
    a.thread === b.thread ? a.position - b.position : a.thread < b.thread ? -1 : 1,
  );
  const threads = [...new Set(said.map(({ thread }) => thread))];
  // A message that is said at another time is another memory. With times of its own, a second run finds what the first saved.
  const timeOf = (thread: string, position: number) =>
    new Date(Date.UTC(2026, 0, 5 + threads.indexOf(thread), 9, 0, 10 * position)).toISOString();
  return {
    documents: said.map(({ id, project, thread, position, speaker, text }) => ({
      id,
      input: {
        content: `${speaker}: ${text}`,
        kind: 'message',
        projectId: project,
        threadId: thread,
        timestamp: timeOf(thread, position),
      },
    })),
    queries: read(folder, 'queries.jsonl', questions).map(({ project, query, relevant }) => ({
      text: query,
      project,
      relevant,
      category: GENERAL.test(query) ? 'general' : 'specific',
    })),
  };
}

function read<T extends z.ZodType>(folder: string, file: string, schema: T): z.output<T> {
  const path = join(folder, file);
  let content: unknown;
  try {
    const text = readFileSync(path, 'utf8');
    content = file.endsWith('.jsonl')
      ? text
          .split('\n')
          .filter(Boolean)
          .map((line) => JSON.parse(line))
      : JSON.parse(text);
  } catch (error) {
    throw new Unusable(`${path}: ${(error as Error).message}`);
  }
  const parsed = schema.safeParse(content);
  if (parsed.success) return parsed.data;
  throw new Unusable(`${path}: ${parsed.error.issues[0]?.path.join('.')}: ${parsed.error.issues[0]?.message}`);
}

const judgedTexts = z.object({
  documents: z.array(z.object({ id: text, content: z.string() })),
  queries: z.array(z.object({ query: z.string(), relevant: z.array(text) })),
});

/** A small collection in this repository: sentences in our own words, each query with the sentences that answer it. */
const ours = (name: string) => (): Collection => {
  const { documents, queries } = read(join(import.meta.dirname, 'collections'), `${name}.json`, judgedTexts);
  return {
    documents: documents.map(({ id, content }) => ({
      id,
      input: { content, kind: 'note', projectId: `eval-${name}` },
    })),
    queries: queries.map(({ query, relevant }) => ({ text: query, project: `eval-${name}`, relevant })),
  };
};

const judgedStores = z.object({
  stores: z.array(z.object({ name: z.string(), notes: z.array(z.object({ note: z.string(), question: z.string() })) })),
});

/** Notes of several small projects, each with a question that shares no word with it. */
function paraphrases(): Collection {
  const { stores } = read(join(import.meta.dirname, 'collections'), 'paraphrases.json', judgedStores);
  const notes = stores.flatMap(({ name, notes }) =>
    notes.map(({ note, question }, n) => ({
      id: `${name}-${n + 1}`,
      project: `eval-paraphrases-${name}`,
      note,
      question,
    })),
  );
  return {
    documents: notes.map(({ id, project, note }) => ({
      id,
      input: { content: note, kind: 'note', projectId: project },
    })),
    queries: notes.map(({ id, project, question }) => ({ text: question, project, relevant: [id] })),
  };
}

const published: Record<string, (folder: string) => Collection> = { cranfield, qmsum };
const collections: typeof published = { ...published, cjk: ours('cjk'), code: ours('code'), paraphrases };

export function readCollection(name: string, folder = ''): Collection {
  const collection = Object.hasOwn(collections, name) ? collections[name] : undefined;
  if (!collection) throw new Unusable(`no such collection: ${name}; there is ${Object.keys(collections).join(', ')}`);
  if (Object.hasOwn(published, name) && !folder) throw new Unusable(`${name}: name the folder with its files`);
  return collection(folder);
}
