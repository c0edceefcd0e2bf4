import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until `look` gives something, for two minutes at most: a busy machine may be slow. */
export async function eventually<T>(look: () => T | Promise<T>): Promise<Exclude<NonNullable<T>, false>> {
  const deadline = Date.now() + 120_000;
  while (Date.now() < deadline) {
    const found = await look();
    if (found) return found as Exclude<NonNullable<T>, false>;
    await sleep(50);
  }
  throw new Error(`still waiting after two minutes: ${look}`);
}
