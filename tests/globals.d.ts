// The globals of a test file. jest-light-runner sets them in the worker; `@jest/globals` only has their types, since
// importing it works in Jest's own sandbox alone.
import type * as jest from '@jest/globals';

declare global {
  const describe: typeof jest.describe;
  const it: typeof jest.it;
  const beforeAll: typeof jest.beforeAll;
  const beforeEach: typeof jest.beforeEach;
  const afterEach: typeof jest.afterEach;
  const afterAll: typeof jest.afterAll;
  /** Jest's `expect`; a failure also shows the message, which says in which case it happened. */
  const expect: typeof jest.expect & (<T>(actual: T, message: string | undefined) => ReturnType<typeof jest.expect<T>>);
}
