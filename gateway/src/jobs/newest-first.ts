// Embeds what was just saved before the backlog, and before the answer to the next call of its writer needs it.

/** Of a larger batch, the rest is left to the backlog, which takes the newest first too. */
const MOST = 16;
/** A turn is short, so that what is saved during it comes soon. */
const IN_ONE_TURN = 2;

/** Calls `embed` with a number of memories that were just saved, one call at a time, until all that were saved had a turn. */
export function newestFirst(embed: (count: number) => Promise<void>) {
  let waiting = 0;
  let running: Promise<void> | null = null;
  const run = async () => {
    // The answer to the save goes first.
    await new Promise(setImmediate);
    while (waiting > 0) {
      const count = Math.min(waiting, IN_ONE_TURN);
      waiting -= count;
      await embed(count);
    }
  };
  return {
    saved(count: number): void {
      waiting = Math.min(waiting + count, MOST);
      if (waiting === 0) return;
      running ??= run().finally(() => {
        running = null;
      });
    },
    settled: async (): Promise<void> => {
      await running;
    },
  };
}
