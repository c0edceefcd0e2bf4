// Runs once in each worker process, before its first test file: what jest-light-runner leaves out.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expectWithMessage } from './expect.ts';
import { withTimeLimits } from './time-limits.ts';

/** What is used of it here: Node's types leave WebAssembly to those of browsers. */
declare const WebAssembly: { compile(bytes: Uint8Array): Promise<object> };

const kept = globalThis as { engine?: object };
// V8 keeps the code of a WebAssembly module as long as one instance of the same bytes exists. With this one, the engines of all
// test files share what was compiled and optimised for the first of them.
const engineFile = fileURLToPath(new URL('./pglite.wasm', import.meta.resolve('@electric-sql/pglite')));
if (!process.env.TEST_DATABASE_URL) kept.engine ??= await WebAssembly.compile(readFileSync(engineFile));

Object.assign(globalThis, withTimeLimits({ it, beforeAll, beforeEach, afterEach, afterAll }), {
  expect: expectWithMessage(expect),
});
