import pg from 'pg';

const CONNECT_WITHIN_MS = 10_000;

/** Runs work on a connection of its own. */
export async function withConnection<T>(connectionString: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: CONNECT_WITHIN_MS });
  // The query that is running reports that the connection broke.
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
