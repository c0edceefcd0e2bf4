// `l9-memory ingest`: folders of Markdown as documents, through the public API. A document that did not change costs a read.
import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { loadConfig } from '../config/config.ts';
import { reasonOfRefusal } from '../input/files.ts';
import { inferWorkingCopy } from '../mcp/working-copy.ts';
import { type Client, type ClientOptions, connect, Refused, reasonOf, told, Unusable } from './support/client.ts';
import { readFrontMatter } from './support/front-matter.ts';
import {
  type Found,
  findMarkdown,
  isFolder,
  isMarkdown,
  type Listing,
  readMarkdown,
  sourceOf,
  topOf,
} from './support/markdown-files.ts';
import { startProgress } from './support/progress.ts';
import { watchMarkdown } from './support/watch-markdown.ts';

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
const LIST = `query ($filter: MemoryFilter!, $after: Cursor, $first: Int!) {
  memories(filter: $filter, after: $after, first: $first) {
    nodes { packetId tags envelope } pageInfo { hasNextPage endCursor }
  }
}`;
const DELETE = 'mutation ($packetId: UUID!) { deleteMemory(input: { packetId: $packetId }) { packetId } }';

/** Stores the Markdown files under the paths and reports the results. Returns 1 if any failed. */
export const ingest = (env: NodeJS.ProcessEnv, paths: string[], given: IngestOptions): Promise<number> =>
  told(async () => {
    if (!paths.some((path) => statSync(path, { throwIfNoEntry: false }))) for (const path of paths) statSync(path);
    const options = withPlace(env, paths, given);
    if (options.prune) checkPrunable(paths, options);
    const client = await connect(env, options);
    // While watching, a file that was stored and has not been touched since need not be sent again.
    const known = new Map<string, string>();
    const once = async () => {
      const tally: Tally = { inserted: 0, updated: 0, unchanged: 0, failed: 0, deleted: 0, problems: [] };
      let stopped: string | null = null;
      try {
        const listings = paths.map(findMarkdown);
        for (const { path, problem } of listings.flatMap(({ problems }) => problems)) fail(tally, { path }, problem);
        const found = onceEach(listings.flatMap((listing) => listing.found));
        const stamps = new Map(found.map(({ path }) => [path, stampOf(path)]));
        const touched = found.filter(({ path }) => stamps.get(path) === null || known.get(path) !== stamps.get(path));
        tally.unchanged += found.length - touched.length;
        await storeAll(client, withoutRepeats(touched, found, tally), options, tally);
        for (const { path } of touched) {
          const stamp = stamps.get(path);
          if (stamp) known.set(path, stamp);
        }
        await reportVanished(client, listings, paths, options, tally);
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
  });

/** The project and branch that are not given are those of the working copies of the paths, as in `l9-memory mcp`. */
function withPlace(env: NodeJS.ProcessEnv, paths: string[], options: IngestOptions): IngestOptions {
  if (options.scope === 'global') return options;
  const { place: named } = loadConfig(env);
  const places = paths.map((path) => {
    const folder = isFolder(path) ? resolve(path) : dirname(resolve(path));
    const { reason, ...place } = inferWorkingCopy(named, folder, env);
    const project = options.project ?? place.project ?? undefined;
    // Another project has other branches.
    const branch = options.branch ?? (project === place.project ? place.branch : null) ?? undefined;
    return { project, branch, reason };
  });
  const { project, branch, reason } = places[0]!;
  if (places.some((other) => other.project !== project || other.branch !== branch))
    throw new Unusable(
      '--project and --branch: the paths are in different working copies; ingest them one by one, or give both',
    );
  const inferred = [
    ...(project !== options.project ? [`project ${project}`] : []),
    ...(branch !== options.branch ? [`branch ${branch}`] : []),
  ];
  if (inferred.length > 0) process.stderr.write(`${inferred.join(', ')} (from the working copy)\n`);
  else if (project === undefined && reason) process.stderr.write(`${reason}\n`);
  return { ...options, ...(project !== undefined && { project }), ...(branch !== undefined && { branch }) };
}

function checkPrunable(paths: string[], { tags = [] }: IngestOptions): void {
  const outside = paths.find((path) => tags.length === 0 && isFolder(path) && topOf(path) === null);
  if (outside)
    throw new Unusable(`--prune: ${outside} is in no Git working copy, so give --tags that only its documents have`);
}

/** The paths may overlap. */
const onceEach = (found: Found[]): Found[] => [...new Map(found.map((file) => [resolve(file.path), file])).values()];

/** Null: it has gone since it was found, or can't be looked at, which reading it will say. */
function stampOf(path: string): string | null {
  try {
    const { mtimeMs, size } = statSync(path);
    return `${mtimeMs} ${size}`;
  } catch (error) {
    reasonOfRefusal(error);
    return null;
  }
}

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
      batch.push({ ...file, text: read.text, item: itemOf(file, read.text, options, tally) });
      bytes += read.text.length;
      if (batch.length >= BATCH_FILES || bytes >= BATCH_BYTES) await flush();
    }
    await flush();
  } finally {
    progress.stop();
  }
}

/** Where the front matter names no title, the database takes the first heading, or else the name of the file. */
function itemOf(
  { path, source }: Found,
  text: string,
  { project, branch, scope, tags: given = [] }: IngestOptions,
  tally: Tally,
) {
  const { title, tags: own, aliases, timestamp, notices } = readFrontMatter(text);
  for (const notice of notices) tally.problems.push(`${path}: ${notice}`);
  const tags = [...new Set([...given, ...own])];
  return {
    kind: 'document',
    data: {
      ...(title && { title }),
      ...(aliases.length > 0 && { aliases }),
      source_url: source,
      body_md: text,
    },
    // Memories in scope global belong to no project.
    ...(scope === 'global' ? {} : { projectId: project, ...(branch ? { branch } : {}) }),
    ...(scope ? { scope } : {}),
    ...(tags.length > 0 && { tags }),
    ...(timestamp && { timestamp }),
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

function fail(tally: Tally, { path }: Pick<Found, 'path'>, problem: string) {
  tally.failed += 1;
  tally.problems.push(`${path}: ${problem}`);
}

/** Documents of an earlier run whose file was in one of the folders and is gone. They are deleted with --prune, otherwise only named. */
async function reportVanished(
  client: Client,
  listings: Listing[],
  paths: string[],
  { project, branch, scope = 'developer', tags = [], prune }: IngestOptions,
  tally: Tally,
): Promise<void> {
  const folders = foldersOf(paths, tags);
  if (folders.length === 0 || (scope !== 'global' && !project)) return;
  const present = new Set(listings.flatMap(({ found }) => found.map(({ source }) => source)));
  // Of a folder that could not be read nothing is known to be gone.
  const unknown = listings.flatMap((listing) => listing.unknown.map((folder) => (folder === '' ? '' : `${folder}/`)));
  const ofBranch = branch ? { equalTo: branch } : { isNull: true };
  const place = scope === 'global' ? {} : { projectId: { equalTo: project }, branch: ofBranch };
  const gone: { packetId: string; source: string }[] = [];
  for (let after: string | null = null; ; ) {
    const { memories }: { memories: Page } = await client.request(LIST, {
      filter: { kind: { equalTo: 'document' }, scope: { equalTo: scope }, ...place },
      after,
      first: PAGE,
    });
    for (const { packetId, envelope, tags: own } of memories.nodes) {
      const source = envelope.source_url;
      if (
        source &&
        isMarkdown(source) &&
        !/^[a-z]+:/i.test(source) &&
        folders.some((folder) => source.startsWith(folder)) &&
        !present.has(source) &&
        !unknown.some((folder) => source.startsWith(folder)) &&
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
      fail(tally, { path: source }, error.message);
    }
  }
}

/**
 * How the sources of the documents of these folders begin. Outside a working copy a source does not tell the folder, so only
 * tags of its own tell its documents from those of other folders. A single file says nothing about the others of its folder.
 */
const foldersOf = (paths: string[], tags: string[]): string[] =>
  paths
    .filter((path) => isFolder(path))
    .flatMap((path) => {
      const top = topOf(path);
      if (top === null) return tags.length > 0 ? [''] : [];
      const folder = sourceOf(top, path);
      return [folder === '' ? '' : `${folder}/`];
    });

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
