// Tests with PgBouncer, and one of the gateway that runs here through it once more. The settings are those of the root's tests.
import base from '../jest.config.js';

export default {
  ...base,
  rootDir: '..',
  roots: ['<rootDir>/cluster', '<rootDir>/gateway/tests'],
  testMatch: ['<rootDir>/cluster/**/*.test.ts', '<rootDir>/gateway/tests/database/prepared.test.ts'],
  maxWorkers: 2,
  globalSetup: '<rootDir>/cluster/setup.js',
  globalTeardown: '<rootDir>/cluster/teardown.js',
};
