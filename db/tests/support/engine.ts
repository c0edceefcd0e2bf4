// Which engine this run tests: PostgreSQL in WebAssembly, or with TEST_DATABASE_URL the server of that superuser's URL.
export const serverUrl = process.env.TEST_DATABASE_URL || null;
export const engine = serverUrl ? 'server' : 'embedded';

/** For what needs a server: several connections at once (the embedded engine has one), its files, its logins. */
export const itOnServer = serverUrl ? it : it.skip;
export const describeOnServer = serverUrl ? describe : describe.skip;

/** For what only an engine inside the process does. */
export const itOnEmbedded = serverUrl ? it.skip : it;
