// Measures whether the confidence of memory_find is what it says: of the hits with 0.8, about 80 % should be relevant.
import { join } from 'node:path';
import { type Client, type ClientOptions, connect, reasonOf } from '../../gateway/src/commands/client.ts';
import { startProgress } from '../../gateway/src/commands/progress.ts';
import { waitForEmbeddings } from '../../gateway/src/commands/saving.ts';
import { type Collection, readCollection } from './collections.ts';
import { load } from './evaluate.ts';
import { calibration, calibrationError, logisticRegression } from './logistic.ts';

const COLLECTIONS = ['cranfield', 'qmsum'] as const;
const MODES = ['fast', 'deep'] as const;

/** What find.confidence() is given, and what it answers. */
interface Hit {
  relevance: number | null;
  wordShare: number;
  confidence: number;
  isRelevant: boolean;
}

export interface ConfidenceOptions extends ClientOptions {
  /** Only these projects of the collections. */
  projects?: string;
  /** Only every nth question. */
  every?: string;
}

const FIND = `query ($query: String!, $mode: FindMode!, $projectId: String!) {
  memoryFind(query: $query, mode: $mode, k: 10, projectId: $projectId, explain: true) {
    hits { packetId confidence explanation }
  }
}`;

/** Asks judged questions, and as many questions about another subject, and prints how many hits of each confidence are relevant. */
export async function evaluateConfidence(
  env: NodeJS.ProcessEnv,
  folder: string | undefined,
  options: ConfidenceOptions,
): Promise<number> {
  try {
    const client = await connect(env, options);
    const every = Number(options.every ?? 1);
    const only = options.projects?.split(',');
    const collections = COLLECTIONS.map((name) =>
      narrowed(readCollection(name, join(folder ?? '', name)), only, every),
    );
    const packets: Map<string, string>[] = [];
    for (const collection of collections) packets.push((await load(client, collection)).packetOf);
    await waitForEmbeddings(client, null);
    for (const mode of MODES) {
      const hits: Hit[] = [];
      for (const [at, { queries }] of collections.entries()) {
        const project = queries[0]!.project;
        const others = collections[1 - at]!.queries.map(({ text }) => ({ text, project, relevant: [] as string[] }));
        const asked = [...queries, ...others.slice(0, queries.length)];
        hits.push(...(await ask(client, mode, asked, packets[at]!)));
      }
      process.stdout.write(tableOf(mode, hits) + fitOf(hits));
    }
    return 0;
  } catch (error) {
    process.stderr.write(`${reasonOf(error)}\n`);
    return 1;
  }
}

const narrowed = ({ documents, queries }: Collection, only: string[] | undefined, every: number): Collection => ({
  documents: documents.filter(({ input }) => only?.includes(input.projectId) ?? true),
  queries: queries.filter(({ project }) => only?.includes(project) ?? true).filter((_, n) => n % every === 0),
});

async function ask(client: Client, mode: string, asked: Collection['queries'], packetOf: Map<string, string>) {
  const hits: Hit[] = [];
  const progress = startProgress(`asking (${mode})`, asked.length);
  for (const [n, { text, project, relevant }] of asked.entries()) {
    const judged = new Set(relevant.map((id) => packetOf.get(id)));
    const { memoryFind } = await client.request<{
      memoryFind: {
        hits: {
          packetId: string;
          confidence: number;
          explanation: { confidence: { relevance: number | null; word_share: number | null } };
        }[];
      };
    }>(FIND, { query: text, mode, projectId: project });
    for (const { packetId, confidence, explanation } of memoryFind.hits) {
      const { relevance, word_share } = explanation.confidence;
      hits.push({ relevance, wordShare: word_share ?? 0, confidence, isRelevant: judged.has(packetId) });
    }
    progress.update(n + 1, '');
  }
  progress.stop();
  return hits;
}

function tableOf(mode: string, hits: readonly Hit[]): string {
  const bins = calibration(hits.map(({ confidence, isRelevant }) => ({ probability: confidence, isTrue: isRelevant })));
  const rows = bins.map(({ from, count, said, was }) =>
    [`${from.toFixed(1)}–${(from + 0.1).toFixed(1)}`, count, said.toFixed(3), was.toFixed(3)]
      .map((cell) => String(cell).padStart(12))
      .join(''),
  );
  const head = ['confidence', 'hits', 'said', 'relevant'].map((cell) => cell.padStart(12)).join('');
  return `memory_find ${mode}\n${head}\n${rows.join('\n')}\nmean distance ${calibrationError(bins).toFixed(3)}\n`;
}

/** The coefficients that fit these hits best, in the order of the formula in find.confidence(). */
function fitOf(hits: readonly Hit[]): string {
  const compared = hits.filter(({ relevance }) => relevance !== null);
  const byWords = hits.filter(({ relevance }) => relevance === null);
  const fits = {
    'by meaning (constant, log odds of relevance, share of words)': compared.map(
      ({ relevance, wordShare, isRelevant }) => ({ features: [logOdds(relevance!), wordShare], isTrue: isRelevant }),
    ),
    'by words (constant, share of words)': byWords.map(({ wordShare, isRelevant }) => ({
      features: [wordShare],
      isTrue: isRelevant,
    })),
  };
  const lines = Object.entries(fits)
    .filter(([, observations]) => observations.length > 100)
    .map(
      ([what, observations]) =>
        `${what}: ${logisticRegression(observations)
          .map((value) => value.toFixed(2))
          .join(', ')}\n`,
    );
  return `${lines.join('')}\n`;
}

function logOdds(relevance: number): number {
  const p = Math.min(Math.max(relevance, 0.001), 0.999);
  return Math.log(p / (1 - p));
}
