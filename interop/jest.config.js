// The settings of the root's tests; only the folder is another.
import base from '../jest.config.js';

export default { ...base, rootDir: '..', roots: ['<rootDir>/interop'] };
