// Runs once in each worker process, before its first test file: what jest-light-runner leaves out.
import { setFlagsFromString } from 'node:v8';
import { expectWithMessage } from './expect.ts';
import { withTimeLimits } from './time-limits.ts';

// Each embedded engine takes 100 MB outside of V8's heap. By default that alone starts a garbage collection of the whole process,
// which in a worker reads 200 MB of modules and schemas. With these flags the tests take a fifth less time and half as much memory again.
setFlagsFromString('--external-memory-accounted-in-global-limit');
setFlagsFromString('--heap-growing-percent=100');

Object.assign(globalThis, withTimeLimits({ it, beforeAll, beforeEach, afterEach, afterAll }), {
  expect: expectWithMessage(expect),
});
