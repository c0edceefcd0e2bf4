// Judged collections, read from their published files.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { Unusable } from '../../gateway/src/commands/client.ts';

export interface Collection {
  project: string;
  kind: string;
  documents: { id: string; content: string; envelope: Record<string, unknown> }[];
  queries: { text: string; relevant: string[] }[];
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
  return {
    project: 'cranfield',
    kind: 'section',
    documents: read(folder, 'cran_docs.json', documents).map(({ id, body, title }) => ({
      id,
      content: body,
      envelope: { doc_id: id, title },
    })),
    // query_num is the position of a query in its file, from 1; the numbers in the file have gaps.
    queries: read(folder, 'cran_queries.json', queries).map(({ query }, index) => ({
      text: query,
      relevant: relevant.get(index + 1) ?? [],
    })),
  };
}

function read<T extends z.ZodType>(folder: string, file: string, schema: T): z.output<T> {
  const path = join(folder, file);
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new Unusable(`${path}: ${(error as Error).message}`);
  }
  const parsed = schema.safeParse(content);
  if (parsed.success) return parsed.data;
  throw new Unusable(`${path}: ${parsed.error.issues[0]?.path.join('.')}: ${parsed.error.issues[0]?.message}`);
}

const collections: Record<string, (folder: string) => Collection> = { cranfield };

export function readCollection(name: string, folder: string): Collection {
  const collection = Object.hasOwn(collections, name) ? collections[name] : undefined;
  if (!collection) throw new Unusable(`no such collection: ${name}; there is ${Object.keys(collections).join(', ')}`);
  return collection(folder);
}
