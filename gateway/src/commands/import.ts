// `l9-memory import`: files of memories, in any of the formats of imports/, through the public API.

import { KnownError } from '../base/errors.ts';
import { chunksOf, openFile, sizeOfFile } from '../input/files.ts';
import { decodeChunks, ENCODINGS, type Encoding } from '../input/text.ts';
import { createTimeReader, type TimeReader } from '../input/times.ts';
import { camelCase } from '../operations/graphql-types.ts';
import { isLeftOut, readInput } from '../operations/read-input.ts';
import { saveInput } from '../operations/save-memory.ts';
import { checkStorable } from '../operations/storable.ts';
import { headOf } from './exports/format.ts';
import { type ImportExportOptions, importExport, toldOf } from './exports/import.ts';
import { isExport, withFile } from './exports/read.ts';
import { FORMATS, type FormatName, readImport } from './imports/index.ts';
import { isZip, type Part, withParts } from './imports/zip.ts';
import { projectFor } from './memories/shared.ts';
import { type Client, type ClientOptions, connect, reasonOf, told, Unusable } from './support/client.ts';
import { eventOrder } from './support/event-order.ts';
import { type Progress, startProgress } from './support/progress.ts';
import { type Candidate, saveAll, waitForEmbeddings } from './support/saving.ts';

const MAX_FAILURES_SHOWN = 1_000;

/** Fields for objects that do not have them. */
interface Placing {
  scope?: string;
  project?: string | undefined;
  branch?: string;
  kind?: string;
}

export interface ImportOptions extends ClientOptions, Placing, ImportExportOptions {
  from?: string;
  encoding?: string;
  wait?: boolean;
}

type Placed = Candidate & { line: number };

interface Tally {
  inserted: number;
  skipped: number;
  failed: number;
  failures: { file: string; line: number; problem: string }[];
  notices: string[];
}

/** Saves the objects of all files and reports the results. Returns 1 if any failed. */
export async function importFiles(env: NodeJS.ProcessEnv, files: string[], options: ImportOptions): Promise<number> {
  const tally: Tally = { inserted: 0, skipped: 0, failed: 0, failures: [], notices: [] };
  return told(async () => {
    let stopped: string | null = null;
    // Files of other formats than that of `l9-memory export`.
    let foreign = 0;
    const given = {
      ...options,
      // A token may have a project of its own.
      project: options.token ? options.project : projectFor(env, options),
      from: oneOf('--from', FORMATS, options.from),
      encoding: oneOf('--encoding', ENCODINGS, options.encoding),
    };
    for (const file of files) if (file !== '-') sizeOfFile(file);
    const client = await connect(env, options);
    try {
      for (const file of files) {
        if (!given.from && (await isExport(file))) {
          const taken = await importExport(client, file, options);
          process.stdout.write(`${toldOf(taken)}\n`);
          if (taken.auditHead) process.stdout.write(`${headOf(taken.auditHead)}\n`);
          continue;
        }
        foreign += 1;
        await importFile(client, file, given, tally);
      }
    } catch (error) {
      stopped = reasonOf(error);
    }
    if (foreign > 0) report(tally, stopped);
    else if (stopped) process.stderr.write(`${stopped}\n`);
    if (!stopped && options.wait) {
      const waiting = await waitForEmbeddings(client, null);
      if (waiting > 0)
        throw new Unusable(`${waiting} memories still can't be found by meaning; the server keeps trying`);
    }
    return stopped || tally.failed > 0 ? 1 : 0;
  });
}

function oneOf<Name extends string>(option: string, names: readonly Name[], given: string | undefined) {
  const name = names.find((one) => one === given?.toLowerCase());
  if (given !== undefined && !name) throw new Unusable(`${option}: one of ${names.join(', ')}`);
  return name;
}

interface Reading {
  from: FormatName | undefined;
  encoding: Encoding | undefined;
}

async function importFile(client: Client, file: string, options: Placing & Reading, tally: Tally) {
  const importAll = async (parts: AsyncIterable<Part> | Iterable<Part>, total: number | null) => {
    const progress = startProgress('importing', total);
    let done = 0;
    try {
      for await (const part of parts) done = await importPart(client, part, options, tally, progress, done);
    } finally {
      progress.stop();
    }
  };
  if (await isZip(file)) return withFile(file, (path) => withParts(path, importAll));
  const opened = file === '-' ? null : openFile(file);
  await importAll([{ name: file, bytes: opened ? chunksOf(opened) : process.stdin }], opened?.size ?? null);
}

/** Saves what is in one file. Returns how many bytes are done, after those of the files before it. */
async function importPart(
  client: Client,
  { name: file, bytes: given, from }: Part,
  options: Placing & Reading,
  tally: Tally,
  progress: Progress,
  done: number,
): Promise<number> {
  const times = createTimeReader();
  const noticed: { line: number; notice: string }[] = [];
  const passed = { bytes: 0, characters: 0, taken: 0 };
  async function* bytes() {
    for await (const chunk of given) {
      passed.bytes += chunk.length;
      yield chunk;
    }
  }
  async function* characters() {
    for await (const text of decodeChunks(bytes(), options.encoding ?? 'utf-8')) {
      passed.characters += text.length;
      yield text;
    }
  }
  const onTaken = (count: number) => {
    passed.taken += count;
  };
  // Of what was read and is not saved yet. Several items are saved at once, so they end in another order.
  const ends: number[] = [];
  async function* candidates(): AsyncGenerator<Placed> {
    const inOrder = eventOrder(file);
    let count = 0;
    let before = 0;
    for await (const item of readImport(file, characters(), options.from ?? from, onTaken)) {
      if ('notices' in item) tally.notices.push(...(item.notices ?? []).map((notice) => `${file}: ${notice}`));
      const taken = passed.bytes * (passed.taken / passed.characters);
      const end = before + (taken - before) * (item.part ?? 1);
      if ((item.part ?? 1) === 1) before = taken;
      ends.push(end);
      const candidate = 'problem' in item ? item : toCandidate(item.fields, options, times);
      count += 1;
      yield { line: item.line, ...('input' in candidate ? { input: inOrder(candidate.input, count) } : candidate) };
    }
  }
  try {
    await saveAll(client, candidates(), ({ line }, outcome) => {
      if ('problem' in outcome) {
        tally.failed += 1;
        if (tally.failures.length < MAX_FAILURES_SHOWN) tally.failures.push({ file, line, problem: outcome.problem });
      } else {
        if (outcome.status === 'inserted') tally.inserted += 1;
        else tally.skipped += 1;
        if (outcome.notice) noticed.push({ line, notice: outcome.notice });
      }
      progress.update(done + (ends.shift() ?? 0), counts(tally));
    });
    progress.update(done + passed.bytes, counts(tally));
    return done + passed.bytes;
  } finally {
    tally.notices.push(...times.notices().map((notice) => `${file}: ${notice}`), ...onceFor(file, noticed));
  }
}

/** The same notice of many lines is told once. */
function onceFor(file: string, noticed: { line: number; notice: string }[]): string[] {
  const [first] = noticed.sort((a, b) => a.line - b.line);
  if (!first) return [];
  const lines =
    noticed.length === 1 ? `line ${first.line}` : `${noticed.length} lines, the first of them ${first.line}`;
  return [`${file}: ${lines}: ${first.notice} --kind message does it for all lines without a kind.`];
}

const counts = ({ inserted, skipped, failed }: Tally) =>
  `${inserted} inserted, ${skipped} skipped as duplicates, ${failed} failed`;

function report(tally: Tally, stopped: string | null) {
  const { failures } = tally;
  // Several requests are in flight at a time, so they end out of order.
  failures.sort((a, b) => (a.file === b.file ? a.line - b.line : 0));
  for (const { file, line, problem } of failures) process.stderr.write(`${file}:${line}: ${problem}\n`);
  for (const notice of tally.notices) process.stderr.write(`${notice}\n`);
  if (tally.failed > failures.length) process.stderr.write(`… and ${tally.failed - failures.length} more\n`);
  if (stopped)
    process.stderr.write(
      `Stopped before the end: ${stopped}. Run it again: memories that are already saved are skipped.\n`,
    );
  process.stdout.write(`${counts(tally)}\n`);
}

const keys = Object.keys(saveInput.shape);
const toKey = new Map(keys.flatMap((key) => [[key, key] as const, [camelCase(key), key] as const]));

/** One object as the input of save_memory. Problems name fields without their values, which may be private. */
export function toCandidate(given: Record<string, unknown>, options: Placing, times: TimeReader): Candidate {
  try {
    checkStorable(given);
  } catch (error) {
    if (error instanceof KnownError) return { problem: error.message };
    throw error;
  }
  const named: Record<string, unknown> = {};
  const others: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) {
    const key = toKey.get(name);
    if (!key) others[name] = value;
    else if (isLeftOut(value)) continue;
    else if (key in named) return { problem: `${key}: given twice` };
    else named[key] = value;
  }
  const known = readInput(saveInput, named) as Record<string, unknown>;
  // A text that is no time is refused below, by name.
  if (known.timestamp !== undefined) known.timestamp = times.of(known.timestamp) ?? known.timestamp;
  known.scope ??= options.scope;
  // Memories in scope global belong to no project.
  if (known.scope !== 'global') {
    known.project_id ??= options.project;
    known.branch ??= options.branch;
  }
  // What somebody said in a thread is part of a conversation, which is searched as one.
  known.kind ??= options.kind ?? (known.speaker && known.thread_id ? 'message' : undefined);
  if (Object.keys(others).length > 0) {
    if (known.envelope !== undefined && (typeof known.envelope !== 'object' || Array.isArray(known.envelope)))
      return { problem: 'envelope: must be an object' };
    known.envelope = { ...others, ...(known.envelope as object | undefined) };
  }

  const parsed = saveInput.safeParse(known);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    return { problem: `${issue?.path.join('.') || 'object'}: ${issue?.message}` };
  }
  const input = Object.entries(parsed.data).filter(([, value]) => value !== undefined);
  return { input: Object.fromEntries(input.map(([key, value]) => [camelCase(key), value])) };
}
