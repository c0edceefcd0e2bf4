import pg from 'pg';

/** Settings local to a transaction: `role`, the claims, `l9.tool_name` … */
export type Settings = Readonly<Record<string, string>>;

// PostgreSQL knows no NUL in a text, and a statement ends there.
const literal = (value: string) => pg.escapeLiteral(value.replaceAll('\0', '\uFFFD'));

const begin = (settings: Settings) => {
  const set = Object.entries(settings).map(([name, value]) => `set_config(${literal(name)}, ${literal(value)}, true)`);
  return set.length > 0 ? `begin; select ${set.join(', ')}` : 'begin';
};

/** Runs `work` in one transaction under these settings; begin and settings go in one round trip. */
export async function inTransaction<T>(
  pool: pg.Pool,
  settings: Settings,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query(begin(settings));
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

/** Calls a function that returns nothing, in a transaction of its own under these settings, in one round trip. */
export async function callInTransaction(
  pool: pg.Pool,
  settings: Settings,
  name: string,
  values: readonly (string | null)[],
): Promise<void> {
  const literals = values.map((value) => (value === null ? 'null' : literal(value)));
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query(`${begin(settings)}; select ${name}(${literals.join(', ')}); commit`);
  } catch (error) {
    await client.query('rollback').catch((failure: Error) => {
      broken = failure;
    });
    throw error;
  } finally {
    client.release(broken);
  }
}
