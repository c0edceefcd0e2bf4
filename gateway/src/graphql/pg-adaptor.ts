// How PostGraphile reaches the pool. Its own adaptor waits for begin, for the settings, for the query and for commit, one
// after the other; here a read is one trip.
import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import type { PgClient, PgClientQuery, PgClientResult, WithPgClient } from 'postgraphile/@dataplan/pg';
import { inOneTrip, inTransaction } from '../database/index.ts';

const STATEMENTS_PER_CONNECTION = 100;

type Connected = pg.ClientBase & { connection?: { parsedStatements?: Record<string, string> } };

/** Of each connection: the statements it has prepared, the least used of which are let go. */
const prepared = new WeakMap<object, LRUCache<string, true>>();

function statementsOf(client: Connected, parsed: Record<string, string>) {
  const known = prepared.get(client);
  if (known) return known;
  const statements = new LRUCache<string, true>({
    max: STATEMENTS_PER_CONNECTION,
    dispose: (_, name) => {
      const text = parsed[name];
      if (!text) return;
      delete parsed[name];
      // In a transaction that is aborted it stays; to prepare it again would be an error.
      client.query(`deallocate ${client.escapeIdentifier(name)}`).catch(() => {
        parsed[name] = text;
      });
    },
  });
  prepared.set(client, statements);
  return statements;
}

async function query<Row>(client: pg.ClientBase, { text, values, name, arrayMode }: PgClientQuery) {
  const parsed = (client as Connected).connection?.parsedStatements;
  const config: pg.QueryConfig & { rowMode?: 'array' } = { text, values: values ?? [] };
  if (arrayMode) config.rowMode = 'array';
  if (name && parsed) {
    statementsOf(client, parsed).set(name, true);
    config.name = name;
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
      query: (asked) => inOneTrip(pool, settings, (client) => query(client, asked)),
      withTransaction: (work) => inTransaction(pool, settings, (client) => work(inside(client))),
    });
  };
}
