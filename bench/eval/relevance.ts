// Measures how well a search tells questions that the memories answer from questions about another subject: how many of
// the latter find nothing, and how much of their recall the former lose by that.
import { join } from 'node:path';
import { type Client, type ClientOptions, connect, reasonOf } from '../../gateway/src/commands/support/client.ts';
import { startProgress } from '../../gateway/src/commands/support/progress.ts';
import { waitForEmbeddings } from '../../gateway/src/commands/support/saving.ts';
import { type Collection, type Query, readCollection } from './collections.ts';
import { load } from './evaluate.ts';
import { mean, recallAt } from './metrics.ts';

const OURS = ['code', 'cjk', 'paraphrases'] as const;
const PUBLISHED = ['cranfield', 'qmsum'] as const;

/** What the documentation promises of a hybrid search, as a mean over the collections. */
export const LEAST_KEPT_OUT = 0.9;
export const MOST_RECALL_LOST = 0.02;
/** The share of the paraphrases whose note is the first that is shown, among hits or nearest. */
export const LEAST_FIRST = 0.8;

export interface RelevanceOptions extends ClientOptions {
  /** Only every nth question. */
  every?: string;
  /** hybrid by default. */
  mode?: string;
}

export interface Answered {
  hits: string[];
  nearest: string[];
}

/** The answers to one question as searches give them, and those without a bound of relevance. */
export interface Asked {
  relevant: ReadonlySet<string>;
  answer: Answered;
  unbounded: Answered;
}

export interface RelevanceFigures {
  kept_out: number;
  recall_lost: number;
  /** Of the questions that are answered: the first that is shown is relevant. */
  first: number;
}

const round = (value: number) => Number(value.toFixed(4));

/** The figures of one collection: of questions that it answers, and of questions about other subjects. */
export function relevanceOf(answered: readonly Asked[], offTopic: readonly Answered[]): RelevanceFigures {
  const recall = (of: (asked: Asked) => Answered) =>
    mean(answered.map((asked) => recallAt(10, of(asked).hits, asked.relevant)));
  const unbounded = recall((asked) => asked.unbounded);
  return {
    kept_out: round(mean(offTopic.map(({ hits }) => (hits.length === 0 ? 1 : 0)))),
    recall_lost: unbounded === 0 ? 0 : round(1 - recall((asked) => asked.answer) / unbounded),
    first: round(
      mean(
        answered.map(({ answer, relevant }) => {
          const [first] = [...answer.hits, ...answer.nearest];
          return first !== undefined && relevant.has(first) ? 1 : 0;
        }),
      ),
    ),
  };
}

/** What is broken of the promises; empty if all hold. */
export function brokenPromises(figures: ReadonlyMap<string, RelevanceFigures>): string[] {
  const over = (of: (one: RelevanceFigures) => number) => mean([...figures.values()].map(of));
  const keptOut = over((one) => one.kept_out);
  const lost = over((one) => one.recall_lost);
  const first = figures.get('paraphrases')?.first ?? 1;
  return [
    keptOut < LEAST_KEPT_OUT ? `kept out: ${keptOut.toFixed(3)} is less than ${LEAST_KEPT_OUT}` : '',
    lost > MOST_RECALL_LOST ? `recall lost: ${lost.toFixed(3)} is more than ${MOST_RECALL_LOST}` : '',
    first < LEAST_FIRST ? `paraphrases found first: ${first.toFixed(3)} is less than ${LEAST_FIRST}` : '',
  ].filter(Boolean);
}

/** Asks every collection its own questions and those of the others. Without a folder only our own collections are asked. */
export async function evaluateRelevance(
  env: NodeJS.ProcessEnv,
  folder: string | undefined,
  options: RelevanceOptions,
): Promise<number> {
  try {
    const client = await connect(env, options);
    const collections = new Map<string, Collection>();
    for (const name of OURS) collections.set(name, readCollection(name));
    if (folder) for (const name of PUBLISHED) collections.set(name, readCollection(name, join(folder, name)));
    const packets = new Map<string, Map<string, string>>();
    for (const [name, collection] of collections) packets.set(name, (await load(client, collection)).packetOf);
    await waitForEmbeddings(client, null);

    const mode = options.mode ?? 'hybrid';
    const every = Number(options.every ?? 1);
    const figures = new Map<string, RelevanceFigures>();
    process.stdout.write(`${row('collection', 'kept out', 'recall lost', 'first')}`);
    for (const [name, { queries }] of collections) {
      const own = queries.filter((_, n) => n % every === 0);
      const others = offTopic(name, collections).filter((_, n) => n % every === 0);
      const progress = startProgress(`asking ${name}`, 2 * own.length + others.length);
      let count = 0;
      const ask = async (text: string, project: string, minRelevance: number | null) => {
        progress.update(++count, '');
        return search(client, { query: text, projectId: project, mode, minRelevance });
      };
      const answered: Asked[] = [];
      for (const { text, project, relevant } of own) {
        answered.push({
          relevant: new Set(relevant.flatMap((id) => packets.get(name)!.get(id) ?? [])),
          answer: await ask(text, project, null),
          unbounded: await ask(text, project, 0),
        });
      }
      const unanswered: Answered[] = [];
      for (const { text, project } of others) unanswered.push(await ask(text, project, null));
      progress.stop();
      const one = relevanceOf(answered, unanswered);
      figures.set(name, one);
      process.stdout.write(row(name, ...[one.kept_out, one.recall_lost, one.first].map((x) => x.toFixed(3))));
    }
    const over = (of: (one: RelevanceFigures) => number) => mean([...figures.values()].map(of)).toFixed(3);
    process.stdout.write(
      row(
        'mean',
        over((one) => one.kept_out),
        over((one) => one.recall_lost),
        over((one) => one.first),
      ),
    );
    const broken = mode === 'hybrid' ? brokenPromises(figures) : [];
    for (const one of broken) process.stdout.write(`${one}\n`);
    return broken.length > 0 ? 1 : 0;
  } catch (error) {
    process.stderr.write(`${reasonOf(error)}\n`);
    return 1;
  }
}

/** As many questions of the other collections as this one has, evenly from each, put to its projects in turn. */
export function offTopic(name: string, collections: ReadonlyMap<string, Collection>): Query[] {
  const own = collections.get(name)!.queries;
  const projects = [...new Set(own.map(({ project }) => project))];
  const others = [...collections].filter(([other]) => other !== name).map(([, { queries }]) => queries);
  return Array.from({ length: own.length }, (_, n) => {
    const queries = others[n % others.length]!;
    const { text } = queries[Math.floor((n * queries.length) / own.length)]!;
    return { text, project: projects[n % projects.length]!, relevant: [] };
  });
}

const SEARCH = `query ($query: String!, $mode: SearchMode!, $projectId: String!, $minRelevance: Float) {
  searchMemory(query: $query, mode: $mode, k: 10, projectId: $projectId, minRelevance: $minRelevance) {
    hits { packetId }
    nearest { packetId }
  }
}`;

async function search(client: Client, variables: Record<string, unknown>): Promise<Answered> {
  const { searchMemory } = await client.request<{
    searchMemory: Record<'hits' | 'nearest', { packetId: string }[]>;
  }>(SEARCH, variables);
  const ids = (rows: { packetId: string }[]) => rows.map(({ packetId }) => packetId);
  return { hits: ids(searchMemory.hits), nearest: ids(searchMemory.nearest) };
}

const row = (...cells: string[]) => `${cells.map((cell, at) => (at ? cell.padStart(13) : cell.padEnd(14))).join('')}\n`;
