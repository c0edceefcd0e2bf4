// `l9-memory ingest`: folders of Markdown as documents, through the public API. A document that did not change costs a read.
import { statSync } from 'node:fs';
import { type Client, type ClientOptions, connect, Refused } from './client.ts';
import { reasonOf } from './import.ts';
import { type Found, findMarkdown, isMarkdown, readMarkdown, titleOf } from './markdown-files.ts';
import { startProgress } from './progress.ts';
import { watchMarkdown } from './watch-markdown.ts';

const BATCH_FILES = 20;
const BATCH_BYTES = 512 * 1024;
const PAGE = 100;

export interface IngestOptions extends ClientOptions {
  project?: string;
  branch?: string;
  scope?: string;
  tags?: string[];
  watch?: boolean;
  prune?: boolean;
}

interface Tally {
  inserted: number;
  updated: number;
  unchanged: number;
  failed: number;
  deleted: number;
  problems: string[];
}

type Prepared = Found & { text: string; item: Record<string, unknown> };

interface Stored {
  stored: { index: number; status: 'inserted' | 'updated' | 'skipped_dedupe' }[];
  errors: { index: number; message: string }[];
}

const STORE =
  'mutation ($input: MemoryStoreInput!) { memoryStore(input: $input) { stored { index status } errors { index message } } }';
const LIST = `query ($condition: MemoryCondition!, $after: Cursor, $first: Int!) {
  memories(condition: $condition, after: $after, first: $first) {
    nodes { packetId tags envelope } pageInfo { hasNextPage endCursor }
  }
}`;
const DELETE = 'mutation ($packetId: UUID!) { deleteMemory(input: { packetId: $packetId }) { packetId } }';

/** Stores the Markdown files under the paths and reports the results. Returns 1 if any failed. */
export async function ingest(env: NodeJS.ProcessEnv, paths: string[], options: IngestOptions): Promise<number> {
  try {
    for (const path of paths) statSync(path);
    const client = await connect(env, options);
    // What was stored and has not been touched since need not be sent again while watching.
    const known = new Map<string, string>();
    const once = async () => {
      const tally: Tally = { inserted: 0, updated: 0, unchanged: 0, failed: 0, deleted: 0, problems: [] };
      let stopped: string | null = null;
      try {
        const found = paths.flatMap(findMarkdown);
        const touched = found.filter(({ path }) => known.get(path) !== stampOf(path));
        const stamps = touched.map(({ path }) => [path, stampOf(path)] as const);
        tally.unchanged += found.length - touched.length;
        await storeAll(client, withoutRepeats(touched, found, tally), options, tally);
        for (const [path, stamp] of stamps) known.set(path, stamp);
        await reportVanished(client, found, paths, options, tally);
      } catch (error) {
        stopped = reasonOf(error);
      }
      report(tally, stopped);
      return stopped || tally.failed > 0 ? 1 : 0;
    };
    const code = await once();
    if (!options.watch) return code;
    await watchMarkdown(paths, once);
    return 0;
  } catch (error) {
    process.stderr.write(`${reasonOf(error)}\n`);
    return 1;
  }
}

const stampOf = (path: string) => {
  const { mtimeMs, size } = statSync(path);
  return `${mtimeMs} ${size}`;
};

/** Two folders may hold files of the same path, which would be one document. */
function withoutRepeats(touched: Found[], all: Found[], tally: Tally): Found[] {
  const first = new Map<string, string>();
  for (const { path, source } of all) if (!first.has(source)) first.set(source, path);
  return touched.filter((file) => {
    if (first.get(file.source) === file.path) return true;
    fail(tally, file, `${first.get(file.source)} has the same path in its folder; give one of them another project`);
    return false;
  });
}

async function storeAll(client: Client, found: Found[], options: IngestOptions, tally: Tally): Promise<void> {
  const progress = startProgress('ingesting', found.length);
  let batch: Prepared[] = [];
  let bytes = 0;
  let done = 0;
  const flush = async () => {
    if (batch.length > 0) await storeBatch(client, batch, tally);
    batch = [];
    bytes = 0;
    progress.update(done, counts(tally));
  };
  try {
    for (const file of found) {
      done += 1;
      const read = readMarkdown(file.path);
      if ('problem' in read) {
        fail(tally, file, read.problem);
        continue;
      }
      batch.push({ ...file, text: read.text, item: itemOf(file, read.text, options) });
      bytes += read.text.length;
      if (batch.length >= BATCH_FILES || bytes >= BATCH_BYTES) await flush();
    }
    await flush();
  } finally {
    progress.stop();
  }
}

function itemOf({ source }: Found, text: string, { project, branch, scope, tags }: IngestOptions) {
  return {
    kind: 'document',
    data: { title: titleOf(text, source), source_url: source, body_md: text },
    // Memories in scope global belong to no project.
    ...(scope === 'global' ? {} : { projectId: project, ...(branch ? { branch } : {}) }),
    ...(scope ? { scope } : {}),
    ...(tags ? { tags } : {}),
  };
}

async function storeBatch(client: Client, batch: Prepared[], tally: Tally): Promise<void> {
  let answer: Stored;
  try {
    const { memoryStore } = await client.request<{ memoryStore: Stored }>(STORE, {
      input: { items: batch.map(({ item }) => item) },
    });
    answer = memoryStore;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    // The whole call was refused: the files are tried one by one, so that only the one it is about is left out.
    if (batch.length === 1) return fail(tally, batch[0]!, error.message);
    for (const one of batch) await storeBatch(client, [one], tally);
    return;
  }
  for (const { status } of answer.stored) {
    if (status === 'inserted') tally.inserted += 1;
    else if (status === 'updated') tally.updated += 1;
    else tally.unchanged += 1;
  }
  for (const { index, message } of answer.errors) fail(tally, batch[index]!, message);
}

function fail(tally: Tally, { path }: Found, problem: string) {
  tally.failed += 1;
  tally.problems.push(`${path}: ${problem}`);
}

/** Documents of an earlier run whose file is gone. They are deleted with --prune, otherwise only named. */
async function reportVanished(
  client: Client,
  found: Found[],
  paths: string[],
  { project, branch, scope = 'developer', tags = [], prune }: IngestOptions,
  tally: Tally,
): Promise<void> {
  // A single file says nothing about the others of its folder, nor a run without a project about those of any.
  if (!paths.every((path) => statSync(path).isDirectory()) || (scope !== 'global' && !project)) return;
  const present = new Set(found.map(({ source }) => source));
  const place = scope === 'global' ? {} : { projectId: project, ...(branch ? { branch } : {}) };
  const gone: { packetId: string; source: string }[] = [];
  for (let after: string | null = null; ; ) {
    const { memories }: { memories: Page } = await client.request(LIST, {
      condition: { kind: 'document', scope, ...place },
      after,
      first: PAGE,
    });
    for (const { packetId, envelope, tags: own } of memories.nodes) {
      const source = envelope.source_url;
      if (
        source &&
        isMarkdown(source) &&
        !/^[a-z]+:/i.test(source) &&
        !present.has(source) &&
        tags.every((tag) => own.includes(tag))
      )
        gone.push({ packetId, source });
    }
    if (!memories.pageInfo.hasNextPage) break;
    after = memories.pageInfo.endCursor;
  }
  for (const { packetId, source } of gone) {
    if (!prune) {
      tally.problems.push(`${source}: its file is gone; --prune deletes the document`);
      continue;
    }
    try {
      await client.request(DELETE, { packetId });
      tally.deleted += 1;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      fail(tally, { path: source, source }, error.message);
    }
  }
}

interface Page {
  nodes: { packetId: string; tags: string[]; envelope: { source_url?: string } }[];
  pageInfo: { hasNextPage: boolean; endCursor: string };
}

const counts = ({ inserted, updated, unchanged, deleted, failed }: Tally) =>
  `${inserted} inserted, ${updated} updated, ${unchanged} unchanged, ${deleted ? `${deleted} deleted, ` : ''}${failed} failed`;

function report(tally: Tally, stopped: string | null) {
  for (const problem of tally.problems) process.stderr.write(`${problem}\n`);
  if (stopped)
    process.stderr.write(
      `Stopped before the end: ${stopped}. Run it again: what is already stored costs only a look.\n`,
    );
  process.stdout.write(`${counts(tally)}\n`);
}
