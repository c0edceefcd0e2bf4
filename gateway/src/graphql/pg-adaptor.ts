// The adaptor between PostGraphile and the pool. The one of PostGraphile waits for begin, the settings, the query and
// commit in turn; here a read is one round trip.
import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import type { PgClient, PgClientQuery, PgClientResult, WithPgClient } from 'postgraphile/@dataplan/pg';
import { inOneTrip, inTransaction, isPipelined, retryDeadlocks } from '../database/index.ts';

/** The key of pgSettings by which a request says that it is a mutation. It is not a setting of the transaction. */
export const IS_MUTATION = 'is mutation';

const STATEMENTS_PER_CONNECTION = 100;

type Connected = pg.ClientBase & { connection?: { parsedStatements?: Record<string, string> } };

/** The prepared statements of each connection, the least recently used first. */
const prepared = new WeakMap<object, LRUCache<string, true>>();

function statementsOf(client: Connected) {
  const statements = prepared.get(client) ?? new LRUCache<string, true>({ max: STATEMENTS_PER_CONNECTION + 1 });
  prepared.set(client, statements);
  return statements;
}

async function letGo(client: Connected, parsed: Record<string, string>, name: string) {
  const text = parsed[name];
  if (!text) return;
  delete parsed[name];
  await client.query(`deallocate ${client.escapeIdentifier(name)}`).catch(() => {
    // An aborted transaction keeps the statement, and preparing it again would be an error.
    parsed[name] = text;
  });
}

async function query<Row>(
  client: pg.ClientBase,
  { text, values, name, arrayMode }: PgClientQuery,
): Promise<PgClientResult<Row>> {
  // The types of pg leave out what it keeps of a connection.
  const parsed = (client as Connected).connection?.parsedStatements;
  const config: pg.QueryConfig & { rowMode?: 'array' } = { text, values: values ?? [] };
  if (arrayMode) config.rowMode = 'array';
  if (name && parsed) {
    const statements = statementsOf(client);
    statements.set(name, true);
    config.name = name;
    if (statements.size > STATEMENTS_PER_CONNECTION) {
      const [leastUsed] = statements.rkeys();
      statements.delete(leastUsed!);
      const gone = letGo(client, parsed, leastUsed!);
      if (!isPipelined(client)) await gone;
    }
  }
  const { rows, rowCount } = await client.query(config);
  return { rows, rowCount, notices: [] };
}

const inside = (client: pg.ClientBase): PgClient => ({
  query: (asked) => query(client, asked),
  async withTransaction(work) {
    await client.query('savepoint nested');
    try {
      const result = await work(this);
      await client.query('release savepoint nested');
      return result;
    } catch (error) {
      await client.query('rollback to savepoint nested');
      throw error;
    }
  },
});

/** Reloads what the gateway keeps of the tables that notify on this channel. It does not fail. */
export type Reload = (channel: string) => Promise<unknown>;

/** The channels that the transaction of this mutation notifies when it commits. */
async function channelsOf(client: pg.ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ channels: string[] }>('select administration.notified_channels() as channels');
  return rows[0]!.channels;
}

/**
 * Runs each query in its own transaction with the settings of the request, unless a transaction is requested. A mutation is answered
 * when this gateway knows what it changed: its own notification may come later than the next request.
 */
export function createWithPgClient(pool: pg.Pool, reload: Reload): WithPgClient {
  return async (pgSettings, callback) => {
    const { [IS_MUTATION]: isMutation, ...rest } = pgSettings ?? {};
    const intent = isMutation ? 'write' : 'read';
    const settings = Object.fromEntries(
      Object.entries(rest).filter((entry): entry is [string, string] => entry[1] != null),
    );
    const known = async <Result>([result, channels]: readonly [Result, string[]]) => {
      await Promise.all(channels.map(reload));
      return result;
    };
    const watched = async <Result>(
      client: pg.ClientBase,
      work: Promise<Result>,
    ): Promise<readonly [Result, string[]]> => {
      if (!isMutation) return [await work, []];
      if (isPipelined(client)) return Promise.all([work, channelsOf(client)]);
      return [await work, await channelsOf(client)];
    };
    return callback({
      async query<Row>(asked: PgClientQuery) {
        const trip = () => inOneTrip(pool, settings, intent, (client) => watched(client, query<Row>(client, asked)));
        return known(await retryDeadlocks(trip));
      },
      async withTransaction(work) {
        const transaction = () =>
          inTransaction(pool, settings, async (client) => watched(client, Promise.resolve(await work(inside(client)))));
        return known(await retryDeadlocks(transaction));
      },
    });
  };
}
