// The settings of the root's tests; only the folder is another, and what is built before.
import base from '../jest.config.js';

export default {
  ...base,
  rootDir: '..',
  roots: ['<rootDir>/interop'],
  globalSetup: '<rootDir>/interop/build-client.js',
};
