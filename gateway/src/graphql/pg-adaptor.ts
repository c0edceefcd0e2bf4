// How PostGraphile reaches the pool. Its own adaptor waits for begin, for the settings, for the query and for commit, one
// after the other; here a read is one trip.
import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import type { PgClient, PgClientQuery, PgClientResult, WithPgClient } from 'postgraphile/@dataplan/pg';
import { inOneTrip, inTransaction, isPipelined, retryDeadlocks } from '../database/index.ts';

const STATEMENTS_PER_CONNECTION = 100;

type Connected = pg.ClientBase & { connection?: { parsedStatements?: Record<string, string> } };

/** Of each connection: the statements it has prepared, the least used first. */
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
    // In a transaction that is aborted it stays; to prepare it again would be an error.
    parsed[name] = text;
  });
}

async function query<Row>(client: pg.ClientBase, { text, values, name, arrayMode }: PgClientQuery) {
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
  return { rows, rowCount, notices: [] } as PgClientResult<Row>;
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

/** Every query a transaction of its own under the request's settings, unless a transaction is asked for. */
export function createWithPgClient(pool: pg.Pool): WithPgClient {
  return async (pgSettings, callback) => {
    const settings = Object.fromEntries(
      Object.entries(pgSettings ?? {}).filter((entry): entry is [string, string] => entry[1] != null),
    );
    return callback({
      query: (asked) => retryDeadlocks(() => inOneTrip(pool, settings, (client) => query(client, asked))),
      withTransaction: (work) => retryDeadlocks(() => inTransaction(pool, settings, (client) => work(inside(client)))),
    });
  };
}
