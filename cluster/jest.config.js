// Tests of several programs together, with the settings of the root's tests. The test of prepared statements runs here once more, through
// PgBouncer.
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
