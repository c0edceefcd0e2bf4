import type * as jest from '@jest/globals';

const TIME_LIMIT_MS = 900_000;

// biome-ignore lint/suspicious/noExplicitAny: tests of `it.each` take what their table holds
type Callback = (...args: any[]) => unknown;

/** Fails where the callback takes too long: jest-light-runner has no time limit, and a test that hangs would hold up the run. */
export function limited(callback: Callback, limitMs = TIME_LIMIT_MS): () => Promise<void> {
  // Only rest arguments: a callback with a named one would be given `done` and waited for.
  return async (...args: unknown[]) => {
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`not finished after ${limitMs / 1000} s`)), limitMs);
    });
    try {
      await Promise.race([callback(...args), limit]);
    } finally {
      clearTimeout(timer);
    }
  };
}

type Globals = Pick<typeof jest, 'it' | 'beforeAll' | 'beforeEach' | 'afterEach' | 'afterAll'>;

/** The functions that register tests and hooks, with the time limit for each callback. */
export function withTimeLimits({ it, beforeAll, beforeEach, afterEach, afterAll }: Globals) {
  // biome-ignore lint/suspicious/noExplicitAny: the overloads of Jest's functions differ, the place of the callback does not
  const named = (register: any) => (name: string, callback: Callback, limitMs?: number) =>
    register(name, limited(callback, limitMs));
  // biome-ignore lint/suspicious/noExplicitAny: as above
  const hook = (register: any) => (callback: Callback) => register(limited(callback));
  const each =
    (register: typeof it.each) =>
    // biome-ignore lint/suspicious/noExplicitAny: as above
    (...table: any[]) =>
      named((register as Callback)(...table));
  return {
    it: Object.assign(named(it), {
      skip: it.skip,
      todo: it.todo,
      only: Object.assign(named(it.only), { each: each(it.only.each) }),
      each: each(it.each),
    }),
    beforeAll: hook(beforeAll),
    beforeEach: hook(beforeEach),
    afterEach: hook(afterEach),
    afterAll: hook(afterAll),
  };
}
