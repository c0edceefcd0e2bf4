// Runs once in each worker process, before its first test file: what jest-light-runner leaves out.
import { expectWithMessage } from './expect.ts';
import { withTimeLimits } from './time-limits.ts';

Object.assign(globalThis, withTimeLimits({ it, beforeAll, beforeEach, afterEach, afterAll }), {
  expect: expectWithMessage(expect),
});
