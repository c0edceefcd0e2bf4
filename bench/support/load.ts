// Generates load and measures times. Closed: a number of clients, each of which sends its next request after an answer.
// Open: a fixed rate of requests, each timed from when it was due, so that a stall counts for all requests it delays.

export interface Sample {
  /** Times in the order in which the requests ended. */
  ms: number[];
  seconds: number;
  errors: Error[];
}

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

export async function closedLoop(
  { clients, seconds, atMost = Number.POSITIVE_INFINITY }: { clients: number; seconds: number; atMost?: number },
  work: (n: number) => Promise<unknown>,
): Promise<Sample> {
  const sample: Sample = { ms: [], seconds: 0, errors: [] };
  const start = performance.now();
  const end = start + seconds * 1_000;
  let next = 0;
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (performance.now() < end && next < atMost) {
        const n = next++;
        await timed(() => work(n)).then(
          (ms) => sample.ms.push(ms),
          (error: Error) => sample.errors.push(error),
        );
      }
    }),
  );
  sample.seconds = (performance.now() - start) / 1_000;
  return sample;
}

export async function openLoop(
  { rate, seconds }: { rate: number; seconds: number },
  work: (n: number) => Promise<unknown>,
): Promise<Sample> {
  const sample: Sample = { ms: [], seconds: 0, errors: [] };
  const start = performance.now();
  const total = Math.ceil(rate * seconds);
  const running: Promise<unknown>[] = [];
  for (let n = 0; n < total; n++) {
    const due = start + (n * 1_000) / rate;
    const wait = due - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    running.push(
      work(n)
        .catch((error: Error) => sample.errors.push(error))
        // A failed request counts with its time too.
        .finally(() => sample.ms.push(performance.now() - due)),
    );
  }
  await Promise.all(running);
  sample.seconds = (performance.now() - start) / 1_000;
  return sample;
}

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(Math.floor(sorted.length * q), sorted.length - 1)] ?? Number.NaN;
}

export const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

export const perSecond = ({ ms, seconds }: Sample) => ms.length / seconds;

/** Measures both sides in turn, in alternating order, so that other load on the machine affects both. */
export async function inTurn<Side extends string>(
  rounds: number,
  sides: Record<Side, (round: number) => Promise<number[]>>,
): Promise<Record<Side, number[][]>> {
  const names = Object.keys(sides) as Side[];
  const times = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Side, number[][]>;
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 ? [...names].reverse() : names;
    for (const name of order) times[name].push(await sides[name](round));
  }
  return times;
}

/** A round that is not counted. A run of less than a second a step, whose figures say nothing, does without. */
export async function warmUpInTurn(seconds: number, sides: Parameters<typeof inTurn>[1]): Promise<void> {
  if (seconds >= 1) await inTurn(1, sides);
}

/** The median over the rounds of the ratio of both sides' quantiles. */
export const ratioOf = (ours: readonly number[][], theirs: readonly number[][], q: number) =>
  quantile(
    ours.map((times, round) => quantile(times, q) / quantile(theirs[round]!, q)),
    0.5,
  );

/** Throws if requests failed, because the figure would be invalid. */
export function mustSucceed({ errors }: Sample, what: string) {
  if (errors.length > 0)
    throw new Error(`${what}: ${errors.length} requests failed, the first with ${errors[0]!.message}`);
}
