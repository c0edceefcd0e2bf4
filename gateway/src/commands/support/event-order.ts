// Gives the lines of an import times that keep each thread in the order of its file, and keys that recognise them the next time.
import { createHash, randomUUID } from 'node:crypto';
import { resolve } from 'node:path';

type Input = Record<string, unknown>;

/** The thread of a GraphQL input of saveMemory; null if it belongs to none. */
export const threadOf = ({ threadId, scope, projectId }: Input): string | null =>
  typeof threadId === 'string' ? JSON.stringify([threadId, scope, projectId]) : null;

interface Turn {
  /** The time that the file gives, in microseconds, and the first item of the thread with it. */
  given: bigint;
  first: number;
  /** The time that this item has got. */
  taken: bigint;
}

/**
 * Completes the inputs of one file, in its order. Lines of one thread and time get times one microsecond apart, as does a line
 * without a time after one that has a time. A message without any gets an idempotency key, because its time of saving will differ
 * when the file is imported again.
 */
export function eventOrder(file: string): (input: Input, item: number) => Input {
  const turns = new Map<string, Turn>();
  const run = randomUUID();
  const source = file === '-' ? run : resolve(file);
  return (input, item) => {
    const thread = threadOf(input);
    const before = thread === null ? undefined : turns.get(thread);
    const given = typeof input.timestamp === 'string' ? toMicroseconds(input.timestamp) : before?.given;
    if (given === undefined) return input.kind === 'message' ? withKey(input, run, [source, item]) : input;
    if (thread === null) return input;
    const isRepeated = before?.given === given;
    const first = isRepeated ? before.first : item;
    // Counted from the first of them, so that a line between them that could not be read has its place when it can be.
    const least = given + BigInt(item - first);
    const taken = before && given >= before.given && least <= before.taken ? before.taken + 1n : least;
    turns.set(thread, { given, first, taken });
    return { ...input, timestamp: taken === given && input.timestamp ? input.timestamp : toText(taken) };
  };
}

function withKey(input: Input, run: string, place: unknown[]): Input {
  if (input.idempotencyKey) return input;
  const hash = createHash('sha256').update(JSON.stringify([...place, input]));
  return { traceId: `${TRACE}${run}`, ...input, idempotencyKey: `import ${hash.digest('hex')}` };
}

const TRACE = 'import ';

/** True if the answer to this input is that of an earlier import: the memory carries the trace of another run. */
export const isFromEarlierRun = ({ traceId }: Input, answered: string | null): boolean =>
  typeof traceId === 'string' && traceId.startsWith(TRACE) && traceId !== answered;

function toMicroseconds(time: string): bigint {
  const [, fraction = ''] = /\.(\d+)/.exec(time) ?? [];
  const seconds = BigInt(Date.parse(time.replace(/\.\d+/, ''))) / 1000n;
  return seconds * 1_000_000n + BigInt(fraction.slice(0, 6).padEnd(6, '0'));
}

function toText(microseconds: bigint): string {
  const fraction = ((microseconds % 1_000_000n) + 1_000_000n) % 1_000_000n;
  const seconds = new Date(Number((microseconds - fraction) / 1000n)).toISOString().slice(0, 19);
  return `${seconds}.${String(fraction).padStart(6, '0')}Z`;
}
