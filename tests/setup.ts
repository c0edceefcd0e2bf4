// Runs once in each worker process, before its first test file: what jest-light-runner leaves out.
import { setFlagsFromString } from 'node:v8';
import { expectWithMessage } from './expect.ts';
import { withTimeLimits } from './time-limits.ts';

// Few tests run long enough to gain from compiling the WebAssembly of PostgreSQL a second time, with optimisations.
if (!process.env.TEST_DATABASE_URL) setFlagsFromString('--wasm-tiering-budget=200000000');

Object.assign(globalThis, withTimeLimits({ it, beforeAll, beforeEach, afterEach, afterAll }), {
  expect: expectWithMessage(expect),
});
