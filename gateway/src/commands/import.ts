// `l9-memory import`: JSON lines, or a JSON array, through the public API.
import { createReadStream, statSync } from 'node:fs';
import { markInexactNumbers } from '../exact-json.ts';
import { camelCase } from '../operations/graphql-types.ts';
import { saveInput } from '../operations/save-memory.ts';
import { type Client, type ClientOptions, connect, reasonOf, Unusable } from './client.ts';
import { eventOrder } from './event-order.ts';
import { type Item, readItems } from './json-items.ts';
import { startProgress } from './progress.ts';
import { type Candidate, saveAll, waitForEmbeddings } from './saving.ts';

const MAX_FAILURES_SHOWN = 1_000;

export interface ImportOptions extends ClientOptions {
  scope?: string;
  project?: string;
  branch?: string;
  kind?: string;
  wait?: boolean;
}

type Placed = Candidate & { line: number };

interface Tally {
  inserted: number;
  skipped: number;
  failed: number;
  failures: { file: string; line: number; problem: string }[];
}

/** Saves the objects of all files and reports the results. Returns 1 if any failed. */
export async function importFiles(env: NodeJS.ProcessEnv, files: string[], options: ImportOptions): Promise<number> {
  const tally: Tally = { inserted: 0, skipped: 0, failed: 0, failures: [] };
  let stopped: string | null = null;
  try {
    for (const file of files) if (file !== '-') statSync(file);
    const client = await connect(env, options);
    try {
      for (const file of files) await importFile(client, file, options, tally);
    } catch (error) {
      stopped = reasonOf(error);
    }
    report(tally, stopped);
    if (!stopped && options.wait) {
      const waiting = await waitForEmbeddings(client, null);
      if (waiting > 0)
        throw new Unusable(`${waiting} memories still can't be found by meaning; the server keeps trying`);
    }
  } catch (error) {
    process.stderr.write(`${reasonOf(error)}\n`);
    return 1;
  }
  return stopped || tally.failed > 0 ? 1 : 0;
}

async function importFile(client: Client, file: string, options: ImportOptions, tally: Tally) {
  const stream = file === '-' ? process.stdin : createReadStream(file);
  const total = file === '-' ? null : statSync(file).size;
  const progress = startProgress('importing', total);
  let read = 0;
  async function* decoded() {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      read += (chunk as Buffer).length;
      yield decoder.decode(chunk as Buffer, { stream: true });
    }
  }
  async function* candidates(): AsyncGenerator<Placed> {
    const inOrder = eventOrder(file);
    let count = 0;
    for await (const item of readItems(decoded())) {
      const candidate = toCandidate(item, options);
      count += 1;
      yield { line: item.line, ...('input' in candidate ? { input: inOrder(candidate.input, count) } : candidate) };
    }
  }
  try {
    await saveAll(client, candidates(), ({ line }, outcome) => {
      if ('problem' in outcome) {
        tally.failed += 1;
        if (tally.failures.length < MAX_FAILURES_SHOWN) tally.failures.push({ file, line, problem: outcome.problem });
      } else if (outcome.status === 'inserted') tally.inserted += 1;
      else tally.skipped += 1;
      progress.update(read, counts(tally));
    });
    progress.update(total ?? read, counts(tally));
  } finally {
    progress.stop();
  }
}

const counts = ({ inserted, skipped, failed }: Tally) =>
  `${inserted} inserted, ${skipped} skipped as duplicates, ${failed} failed`;

function report(tally: Tally, stopped: string | null) {
  const { failures } = tally;
  // Several requests are in flight at a time, so they end out of order.
  failures.sort((a, b) => (a.file === b.file ? a.line - b.line : 0));
  for (const { file, line, problem } of failures) process.stderr.write(`${file}:${line}: ${problem}\n`);
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
export function toCandidate({ text }: Pick<Item, 'text'>, options: ImportOptions): Candidate {
  if (text === null) return { problem: 'too long' };
  let given: unknown;
  try {
    given = JSON.parse(markInexactNumbers(text));
  } catch {
    return { problem: 'not valid JSON' };
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return { problem: 'not a JSON object' };

  const known: Record<string, unknown> = {};
  const others: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) {
    const key = toKey.get(name);
    if (!key) others[name] = value;
    else if (value === null) continue;
    else if (key in known) return { problem: `${key}: given twice` };
    else known[key] = value;
  }
  known.scope ??= options.scope;
  // Memories in scope global belong to no project.
  if (known.scope !== 'global') {
    known.project_id ??= options.project;
    known.branch ??= options.branch;
  }
  known.kind ??= options.kind;
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
