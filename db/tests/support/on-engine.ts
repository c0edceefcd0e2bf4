import { serverUrl } from './engine.ts';

/** For tests that need a server: several connections at once (the embedded engine has one), its files, its logins. */
export const itOnServer = serverUrl ? it : it.skip;
export const describeOnServer = serverUrl ? describe : describe.skip;

/** For tests of what only an engine inside the process does. */
export const itOnEmbedded = serverUrl ? it.skip : it;
