// What this process did in the last hour, minute by minute, and its slow calls. Administrators read it; a restart forgets it.
import { errorKinds } from '../base/errors.ts';

const MINUTE_MS = 60_000;
const MINUTES = 60;
const SLOW_CALLS = 50;

const REFUSALS: ReadonlySet<string> = new Set(
  Object.values(errorKinds).flatMap(({ code, httpStatus }) => (httpStatus < 500 ? [code] : [])),
);

/** Durations in milliseconds. A refusal is the fault of the caller, a failure is one of the server. */
export interface Counts {
  calls: number;
  refused: number;
  failed: number;
  meanMs: number;
  slowestMs: number;
}

export interface SlowCall {
  at: string;
  operation: string;
  sqlMs: number;
  /** How a search was done. */
  route: string | null;
}

/** What is measured once a minute. */
export interface Sample {
  embeddingWaiting: number | null;
  connectionsWaiting: number;
  residentBytes: number;
}

export type Minute = Counts & { at: string; limited: number; slow: number } & { [Name in keyof Sample]: number | null };

interface Tally {
  calls: number;
  refused: number;
  failed: number;
  totalMs: number;
  slowestMs: number;
}

interface Slot {
  minute: number;
  operations: Map<string, Tally>;
  limits: Map<string, number>;
  slow: number;
  sample: Sample | null;
}

const emptyTally = (): Tally => ({ calls: 0, refused: 0, failed: 0, totalMs: 0, slowestMs: 0 });

const addTo = (sum: Tally, { calls, refused, failed, totalMs, slowestMs }: Tally): Tally => ({
  calls: sum.calls + calls,
  refused: sum.refused + refused,
  failed: sum.failed + failed,
  totalMs: sum.totalMs + totalMs,
  slowestMs: Math.max(sum.slowestMs, slowestMs),
});

const countsOf = ({ totalMs, ...tally }: Tally): Counts => ({
  ...tally,
  meanMs: tally.calls === 0 ? 0 : totalMs / tally.calls,
});

const total = (values: Iterable<number>) => [...values].reduce((sum, value) => sum + value, 0);

export type Recent = ReturnType<typeof createRecent>;

export function createRecent(now: () => number = Date.now) {
  const slots: Slot[] = [];
  const slow: SlowCall[] = [];
  const minuteOf = (time: number) => Math.floor(time / MINUTE_MS);
  const started = minuteOf(now());

  /** Forgets what is older than an hour. */
  const kept = () => {
    const first = minuteOf(now()) - MINUTES + 1;
    while (slots[0] && slots[0].minute < first) slots.shift();
    while (slow[0] && minuteOf(Date.parse(slow[0].at)) < first) slow.shift();
    return { first: Math.max(first, started), slots };
  };
  const current = (): Slot => {
    kept();
    const minute = minuteOf(now());
    const last = slots.at(-1);
    if (last?.minute === minute) return last;
    const slot: Slot = { minute, operations: new Map(), limits: new Map(), slow: 0, sample: null };
    slots.push(slot);
    return slot;
  };

  const minuteFrom = (minute: number, slot: Slot | undefined): Minute => {
    const { embeddingWaiting = null, connectionsWaiting = null, residentBytes = null } = slot?.sample ?? {};
    return {
      at: new Date(minute * MINUTE_MS).toISOString(),
      ...countsOf([...(slot?.operations.values() ?? [])].reduce(addTo, emptyTally())),
      limited: total(slot?.limits.values() ?? []),
      slow: slot?.slow ?? 0,
      ...{ embeddingWaiting, connectionsWaiting, residentBytes },
    };
  };

  return {
    called(operation: string, outcome: string, milliseconds: number) {
      const { operations } = current();
      const isRefused = REFUSALS.has(outcome);
      const call: Tally = {
        calls: 1,
        refused: isRefused ? 1 : 0,
        failed: outcome !== 'ok' && !isRefused ? 1 : 0,
        totalMs: milliseconds,
        slowestMs: milliseconds,
      };
      operations.set(operation, addTo(operations.get(operation) ?? emptyTally(), call));
    },
    slow(operation: string, sqlMs: number, route: string | null) {
      current().slow += 1;
      slow.push({ at: new Date(now()).toISOString(), operation, sqlMs, route });
      if (slow.length > SLOW_CALLS) slow.shift();
    },
    limited(limit: string) {
      const { limits } = current();
      limits.set(limit, (limits.get(limit) ?? 0) + 1);
    },
    sampled(sample: Sample) {
      current().sample = sample;
    },
    /** Every minute of the last hour since the start, oldest first, also those in which nothing happened. */
    minutes(): Minute[] {
      const { first } = kept();
      const bySlot = new Map(slots.map((slot) => [slot.minute, slot]));
      const length = minuteOf(now()) - first + 1;
      return Array.from({ length }, (_, index) => minuteFrom(first + index, bySlot.get(first + index)));
    },
    /** The operations of the last hour, by the time that they took in all. */
    operations(): (Counts & { operation: string })[] {
      const sums = new Map<string, Tally>();
      for (const slot of kept().slots)
        for (const [name, tally] of slot.operations) sums.set(name, addTo(sums.get(name) ?? emptyTally(), tally));
      return [...sums]
        .sort(([, a], [, b]) => b.totalMs - a.totalMs)
        .map(([operation, tally]) => ({ operation, ...countsOf(tally) }));
    },
    /** The newest first, at most fifty. */
    slowCalls(): SlowCall[] {
      kept();
      return slow.toReversed();
    },
    /** How many requests each limit refused in the last hour. */
    limits(): { limit: string; refused: number }[] {
      const sums = new Map<string, number>();
      for (const slot of kept().slots)
        for (const [limit, refused] of slot.limits) sums.set(limit, (sums.get(limit) ?? 0) + refused);
      return [...sums].map(([limit, refused]) => ({ limit, refused }));
    },
  };
}
