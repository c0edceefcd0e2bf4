import { serverUrl } from './engine.ts';

/** For tests that need a server: several connections at once (the embedded engine has one), its files, its logins. */
export const itOnServer = serverUrl ? it : it.skip;
export const describeOnServer = serverUrl ? describe : describe.skip;

/** For tests of the embedded engine (its single session, its psql socket), and for tests whose result is the same on both engines. */
export const describeOnEmbedded = serverUrl ? describe.skip : describe;
export const itOnEmbedded = serverUrl ? it.skip : it;
