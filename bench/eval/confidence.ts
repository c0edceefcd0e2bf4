// Measures whether the confidence of memory_find is what it says: of the hits with 0.8, about 80 % should be relevant.
import { join } from 'node:path';
import { type Client, type ClientOptions, connect, reasonOf } from '../../gateway/src/commands/support/client.ts';
import { startProgress } from '../../gateway/src/commands/support/progress.ts';
import { waitForEmbeddings } from '../../gateway/src/commands/support/saving.ts';
import { type Collection, readCollection } from './collections.ts';
import { load } from './evaluate.ts';
import { calibration, calibrationError, logisticRegression, probability } from './logistic.ts';

const COLLECTIONS = ['cranfield', 'qmsum'] as const;
const MODES = ['fast', 'deep'] as const;

/** What find.confidence() is given, and what it answers. */
interface Hit {
  relevance: number | null;
  wordShare: number;
  lead: number;
  /** The number of the question. */
  question: number;
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
      process.stdout.write(`memory_find ${mode}\n${tableOf(hits)}${fitOf(hits)}`);
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
          explanation: { confidence: { relevance: number | null; word_share: number | null; lead: number } };
        }[];
      };
    }>(FIND, { query: text, mode, projectId: project });
    for (const { packetId, confidence, explanation } of memoryFind.hits) {
      const { relevance, word_share, lead } = explanation.confidence;
      const evidence = { relevance, wordShare: word_share ?? 0, lead, confidence };
      hits.push({ ...evidence, question: n, isRelevant: judged.has(packetId) });
    }
    progress.update(n + 1, '');
  }
  progress.stop();
  return hits;
}

function tableOf(hits: readonly Hit[]): string {
  const bins = calibration(hits.map(({ confidence, isRelevant }) => ({ probability: confidence, isTrue: isRelevant })));
  const rows = bins.map(({ from, count, said, was }) =>
    [`${from.toFixed(1)}–${(from + 0.1).toFixed(1)}`, count, said.toFixed(3), was.toFixed(3)]
      .map((cell) => String(cell).padStart(12))
      .join(''),
  );
  const head = ['confidence', 'hits', 'said', 'relevant'].map((cell) => cell.padStart(12)).join('');
  return `${head}\n${rows.join('\n')}\nmean distance ${calibrationError(bins).toFixed(3)}\n`;
}

const FITS = {
  'by meaning (constant, log odds of relevance, share of words, lead)': {
    isMeant: ({ relevance }: Hit) => relevance !== null,
    featuresOf: ({ relevance, wordShare, lead }: Hit) => [logOdds(relevance!), wordShare, within(lead)],
  },
  'by words (constant, share of words, lead)': {
    isMeant: ({ relevance }: Hit) => relevance === null,
    featuresOf: ({ wordShare, lead }: Hit) => [wordShare, within(lead)],
  },
};

/** The coefficients that fit these hits best, in the order of find.confidence(), and how each half of the questions is judged by a fit of the other. */
function fitOf(hits: readonly Hit[]): string {
  let text = '';
  for (const [what, { isMeant, featuresOf }] of Object.entries(FITS)) {
    const all = hits.filter(isMeant);
    if (all.length <= 100) continue;
    const coefficientsOf = (some: readonly Hit[]) =>
      logisticRegression(some.map((hit) => ({ features: featuresOf(hit), isTrue: hit.isRelevant })));
    const judged = [0, 1].flatMap((half) => {
      const coefficients = coefficientsOf(all.filter(({ question }) => question % 2 !== half));
      return all
        .filter(({ question }) => question % 2 === half)
        .map((hit) => ({ ...hit, confidence: probability(coefficients, featuresOf(hit)) }));
    });
    text += `${what}: ${coefficientsOf(all)
      .map((value) => value.toFixed(2))
      .join(', ')}\neach half of the questions, by a fit of the other half\n${tableOf(judged)}`;
  }
  return `${text}\n`;
}

/** As find.confidence() limits them. */
const within = (lead: number) => Math.min(Math.max(lead, -0.6), 0.4);
const logOdds = (relevance: number) => Math.log(Math.max(relevance, 1e-6) / Math.max(1 - relevance, 1e-6));
