// Jest 30 with jest-light-runner: test files are ES modules as they stand, Node strips their types, nothing is transformed.
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// Both settings reach the worker processes. Without the cache each of them would compile the whole gateway again.
process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'l9-memory-compile-cache');
// Grafast checks its plans only in development, so that a plan that would fail there fails here.
process.env.GRAPHILE_ENV ??= 'development';
// Jest sets NODE_ENV=test where it is unset; the gateway and its libraries run here as they do for users.
if (process.env.NODE_ENV === 'test') delete process.env.NODE_ENV;

export default {
  roots: [
    '<rootDir>/db/tests',
    '<rootDir>/gateway/tests',
    '<rootDir>/console/tests',
    '<rootDir>/clients',
    '<rootDir>/tools',
    '<rootDir>/tests',
  ],
  testMatch: ['**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {},
  // A worker imports a module once for all its test files; only the test file itself is imported for each run.
  runner: '<rootDir>/tests/runner.js',
  // Tests also wait, for processes, leases and clocks: four keep two cores busy, and three where a server computes on them, too.
  maxWorkers: process.env.TEST_DATABASE_URL ? 3 : 4,
  testSequencer: '<rootDir>/tests/longest-first.js',
  globalSetup: '<rootDir>/tests/build-console.js',
  setupFilesAfterEnv: ['<rootDir>/tests/setup.ts'],
  reporters: ['default', '<rootDir>/tests/totals-reporter.ts'],
};
