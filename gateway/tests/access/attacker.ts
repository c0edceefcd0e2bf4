// Helpers for attacks through the gateway, in addition to those of db/tests.

import { errorKinds } from '../../src/base/errors.ts';
import type { Embedder } from '../../src/embeddings/index.ts';

export * from '../../../db/tests/support/attacker.ts';

/** A cheap embedder for tests that do not depend on meaning. */
export const cheapEmbedder: Embedder = {
  model: 'cheap',
  dimensions: 3,
  embed: async (texts) => texts.map((text) => [1, (text.length % 7) / 10, 0]),
  chunk: async () => [],
  close: async () => {},
};

/** One of the errors of docs/reference/errors.md, never INTERNAL. */
export function assertDocumented(code: string | undefined, what: string): void {
  expect(code, `${what}: ${code}`).not.toBeUndefined();
  expect(
    Object.values(errorKinds).some((kind) => kind.code === code),
    `${what}: ${code}`,
  ).toBe(true);
}
