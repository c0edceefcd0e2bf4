import pg from 'pg';

/** Settings local to a transaction: `role`, the claims, `l9.tool_name` … */
export type Settings = Readonly<Record<string, string>>;

/** Runs `work` in one transaction under these settings; begin and settings go in one round trip. */
export async function inTransaction<T>(
  pool: pg.Pool,
  settings: Settings,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    const set = Object.entries(settings).map(
      ([name, value]) => `set_config(${pg.escapeLiteral(name)}, ${pg.escapeLiteral(value)}, true)`,
    );
    await client.query(set.length > 0 ? `begin; select ${set.join(', ')}` : 'begin');
    const result = await work(client);
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch((failure: Error) => {
      broken = failure;
    });
    throw error;
  } finally {
    client.release(broken);
  }
}
