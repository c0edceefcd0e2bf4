import { serverUrl } from './engine.ts';

/** For tests that need a server: several connections at once (the embedded engine has one), its files, its logins. */
export const itOnServer = serverUrl ? it : it.skip;
export const describeOnServer = serverUrl ? describe : describe.skip;

/** For tests of the engine inside the process (its one session for all, its psql socket), and of what no engine changes. */
export const describeOnEmbedded = serverUrl ? describe.skip : describe;
export const itOnEmbedded = serverUrl ? it.skip : it;
