// The tests of the root on a server, with PgBouncer between it and every gateway that they start.
import base from '../jest.config.js';
import cluster from './jest.config.js';

const { globalSetup, globalTeardown } = cluster;
export default { ...base, rootDir: '..', globalSetup, globalTeardown };
