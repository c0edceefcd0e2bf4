// Measures search quality on judged queries through the public API.
import { writeFileSync } from 'node:fs';
import {
  type Client,
  type ClientOptions,
  connect,
  reasonOf,
  Unusable,
} from '../../gateway/src/commands/support/client.ts';
import { startProgress } from '../../gateway/src/commands/support/progress.ts';
import { type Outcome, saveAll, waitForEmbeddings } from '../../gateway/src/commands/support/saving.ts';
import { openSettings, VARIANTS } from './ablation.ts';
import { type Collection, type Query, readCollection } from './collections.ts';
import { belowALeg, type Figures, figuresOf, type Judged } from './metrics.ts';

const MODES = ['hybrid', 'lexical', 'semantic'] as const;

export interface EvalOptions extends ClientOptions {
  json?: string;
  /** Also run with parts of the search switched off. This changes settings of the tenant, so it needs an administrator. */
  ablation?: boolean;
  admin?: string;
}

const SEARCH = `query ($query: String!, $mode: SearchMode!, $projectId: String!) {
  searchMemory(query: $query, mode: $mode, k: 10, projectId: $projectId) {
    hits { packetId }
    searched { mode notice }
  }
}`;

/**
 * Loads the missing documents of a collection, runs its queries in every mode and prints the figures. Returns 1 if hybrid search is
 * below words alone or meaning alone.
 */
export async function evaluate(
  env: NodeJS.ProcessEnv,
  name: string,
  folder: string | undefined,
  options: EvalOptions,
): Promise<number> {
  try {
    const collection = readCollection(name, folder);
    const client = await connect(env, options);
    const loaded = await load(client, collection);
    const started = performance.now();
    const waiting = await waitForEmbeddings(client, null);
    if (waiting > 0) throw new Unusable(`${waiting} memories can't be found by meaning yet; try again later`);
    const embeddingSeconds = (performance.now() - started) / 1000;

    // The first round computes the vectors of the queries, which the server caches for all modes.
    const passes = ['hybrid', ...MODES] as const;
    const progress = startProgress(
      'searching',
      (passes.length + (options.ablation ? VARIANTS.length : 0)) * collection.queries.length,
    );
    let searches = 0;
    const measure = async (mode: string): Promise<Figures> => {
      const judged: Judged[] = [];
      for (const query of collection.queries) {
        const packets = new Set(query.relevant.flatMap((id) => loaded.packetOf.get(id) ?? []));
        judged.push({ ...(await search(client, query, mode)), relevant: packets, category: query.category });
        searches += 1;
        progress.update(searches, mode);
      }
      return figuresOf(judged);
    };
    const figures: Figures[] = [];
    for (const mode of passes) figures.push(await measure(mode));
    const ablation = options.ablation ? await measureAblation(env, options, measure) : [];
    progress.stop();

    const [first, ...rest] = figures as [Figures, ...Figures[]];
    const modes = Object.fromEntries(MODES.map((mode, index) => [mode, rest[index] as Figures]));
    const { engine, embedding_model } = await client.ready();
    process.stdout.write(table(name, collection, loaded.packets, modes, first));
    if (ablation.length > 0)
      process.stdout.write(`\n${ablation.map(({ name, ...measured }) => row(name, measured)).join('')}`);
    if (options.json) {
      const { packetOf: _, ...load } = loaded;
      const server = { engine, embedding_model };
      const waited = { seconds_until_embedded: Number(embeddingSeconds.toFixed(1)) };
      const first_pass = { p50_ms: first.p50_ms, p95_ms: first.p95_ms };
      const report = {
        collection: name,
        server,
        queries: collection.queries.length,
        ...load,
        ...waited,
        modes,
        first_pass,
        ...(options.ablation ? { ablation } : {}),
      };
      writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`);
    }
    const below = belowALeg(modes);
    for (const sentence of below) process.stderr.write(`${name}: ${sentence}\n`);
    return below.length > 0 ? 1 : 0;
  } catch (error) {
    process.stderr.write(`${reasonOf(error)}\n`);
    return 1;
  }
}

async function measureAblation(
  env: NodeJS.ProcessEnv,
  options: EvalOptions,
  measure: (mode: string) => Promise<Figures>,
) {
  const settings = await openSettings(env, { ...options, caller: options.admin ?? 'L' });
  const ablation: (Figures & { name: string; mode: string })[] = [];
  try {
    for (const { name, mode, settings: changed } of VARIANTS) {
      await settings.use(changed);
      ablation.push({ name, mode, ...(await measure(mode)) });
    }
  } finally {
    await settings.restore();
  }
  return ablation;
}

/**
 * Saves every document; an existing one returns its packet. Equal documents are one packet, which counts once and is
 * relevant if one of them is. Blank documents cannot be stored or found.
 */
export async function load(client: Client, { documents }: Collection) {
  const packetOf = new Map<string, string>();
  const candidates = documents.map(({ id, input }) =>
    /\S/.test(input.content)
      ? { id, input: { ...input, scope: 'developer', correlationId: `${input.projectId}/${id}` } }
      : { id, problem: 'blank' },
  );
  const seen = { inserted: 0, skipped_dedupe: 0, blank: 0 };
  const started = performance.now();
  const progress = startProgress('loading', documents.length);
  try {
    await saveAll(client, candidates, ({ id }, outcome: Outcome) => {
      if ('problem' in outcome) {
        if (outcome.problem !== 'blank') throw new Unusable(`document ${id}: ${outcome.problem}`);
        seen.blank += 1;
      } else {
        seen[outcome.status] += 1;
        packetOf.set(id, outcome.packetId);
      }
      progress.update(packetOf.size + seen.blank, `${seen.inserted} inserted, ${seen.skipped_dedupe} there already`);
    });
  } finally {
    progress.stop();
  }
  const seconds_loading = Number(((performance.now() - started) / 1000).toFixed(1));
  return { packetOf, packets: new Set(packetOf.values()).size, documents: { ...seen }, seconds_loading };
}

async function search(client: Client, { text, project }: Query, mode: string) {
  const started = performance.now();
  const { searchMemory } = await client.request<{
    searchMemory: { hits: { packetId: string }[]; searched: { mode: string; notice: string | null } };
  }>(SEARCH, { query: text, mode, projectId: project });
  const milliseconds = performance.now() - started;
  const { searched } = searchMemory;
  // A query in a script that the model does not know is searched by words in every mode.
  if (searched.mode !== mode && !searched.notice?.startsWith('The embedding model knows none'))
    throw new Unusable('the embedder is not available: only words were searched');
  return { ranking: searchMemory.hits.map(({ packetId }) => packetId), milliseconds };
}

const cells = (...texts: string[]) =>
  `${texts.map((text, at) => (at ? text.padStart(11) : text.padEnd(22))).join('')}\n`;
const row = (name: string, figures: Figures) => {
  const { recall_at_1, recall_at_5, recall_at_10, ndcg_at_10, mrr, success_at_10, p50_ms, p95_ms } = figures;
  return cells(
    name,
    ...[recall_at_1, recall_at_5, recall_at_10, ndcg_at_10, mrr, success_at_10].map((x) => x.toFixed(3)),
    ...[p50_ms, p95_ms].map((x) => `${x.toFixed(1)} ms`),
  );
};

function table(name: string, collection: Collection, packets: number, modes: Record<string, Figures>, first: Figures) {
  const body = Object.entries(modes).flatMap(([mode, measured]) => [
    row(mode, measured),
    ...Object.entries(measured.categories ?? {}).map(([category, part]) => row(`  ${category}`, part)),
  ]);
  return (
    `${name}: ${collection.queries.length} queries over ${packets} memories\n\n` +
    `${cells('mode', 'R@1', 'R@5', 'R@10', 'nDCG@10', 'MRR', 'success@10', 'p50', 'p95')}${body.join('')}\n` +
    `The first pass, which computes the vectors of the queries: p50 ${first.p50_ms} ms, p95 ${first.p95_ms} ms (hybrid).\n`
  );
}
