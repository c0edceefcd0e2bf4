import pg from 'pg';

/** Settings local to a transaction: `role`, the claims, `l9.tool_name` … */
export type Settings = Readonly<Record<string, string>>;

// PostgreSQL knows no NUL in a text, and a statement ends there.
const literal = (value: string) => pg.escapeLiteral(value.replaceAll('\0', '\uFFFD'));

const begin = (settings: Settings) => {
  const set = Object.entries(settings).map(([name, value]) => `set_config(${literal(name)}, ${literal(value)}, true)`);
  return set.length > 0 ? `begin; select ${set.join(', ')}` : 'begin';
};

/** Whether what is asked before an answer came is sent at once. The embedded engine takes one thing at a time. */
export const isPipelined = (client: pg.ClientBase) => (client as { pipeline?: boolean }).pipeline === true;

/** Waits for all, so that nothing still runs on the connection, and then fails with the first failure in order. */
async function settled<T extends readonly unknown[]>(flight: { [K in keyof T]: Promise<T[K]> }): Promise<T> {
  const results = await Promise.allSettled(flight);
  const failure = results.find((result) => result.status === 'rejected');
  if (failure) throw failure.reason;
  return results.map((result) => (result as PromiseFulfilledResult<unknown>).value) as unknown as T;
}

/**
 * Runs `work` in one transaction under these settings. On a server its first query is sent right behind begin and
 * settings, without waiting for them: where they are refused it fails too, in a transaction that is aborted.
 */
export async function inTransaction<T>(
  pool: pg.Pool,
  settings: Settings,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  return transact(await pool.connect(), settings, work);
}

async function transact<T>(
  client: pg.PoolClient,
  settings: Settings,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  let broken: Error | undefined;
  try {
    const begun = client.query(begin(settings));
    if (!isPipelined(client)) await begun;
    const [, result] = await settled([begun, work(client)]);
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

/**
 * The same for work that is one query, asked for at once: commit follows right behind it, so that on a server begin,
 * settings, query and commit are one round trip. Where the query fails, that commit rolls back.
 */
export async function inOneTrip<T>(
  pool: pg.Pool,
  settings: Settings,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  if (!isPipelined(client)) return transact(client, settings, work);
  let broken: Error | undefined;
  try {
    const begun = client.query(begin(settings));
    const worked = work(client);
    const committed = client.query('commit').catch((failure: Error) => {
      broken = failure;
      throw failure;
    });
    const [, result] = await settled([begun, worked, committed]);
    return result;
  } finally {
    client.release(broken);
  }
}

const DEADLOCK = '40P01';
const ATTEMPTS = 3;

/** Runs a whole transaction, and again where it was the one to give way to another in a deadlock: nothing of it was done. */
export async function retryDeadlocks<T>(transaction: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await transaction();
    } catch (error) {
      if ((error as { code?: string }).code !== DEADLOCK || attempt === ATTEMPTS) throw error;
    }
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
