// Which engine this run tests: PostgreSQL in WebAssembly, or with TEST_DATABASE_URL the server of that superuser's URL.
export const serverUrl = process.env.TEST_DATABASE_URL || null;
export const engine = serverUrl ? 'server' : 'embedded';
