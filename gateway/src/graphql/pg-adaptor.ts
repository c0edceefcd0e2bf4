// The adaptor between PostGraphile and the pool. The one of PostGraphile waits for begin, the settings, the query and
// commit in turn; here a read is one round trip.
import type pg from 'pg';
import type { PgClient, PgClientQuery, PgClientResult, WithPgClient } from 'postgraphile/@dataplan/pg';
import { makePgService } from 'postgraphile/adaptors/pg';
import {
  type Database,
  inOneTrip,
  inTransaction,
  queryPrepared,
  readInOneTrip,
  retryDeadlocks,
  settled,
} from '../database/index.ts';

/** The key of pgSettings by which a request says that it is a mutation. It is not a setting of the transaction. */
export const IS_MUTATION = 'is mutation';

async function query<Row>(
  client: pg.ClientBase,
  { text, values, name, arrayMode }: PgClientQuery,
): Promise<PgClientResult<Row>> {
  const { rows, rowCount } = await queryPrepared<Row & pg.QueryResultRow>(client, {
    text,
    values: [...(values ?? [])],
    ...(name && { name }),
    ...(arrayMode && { rowMode: 'array' }),
  });
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
export function createWithPgClient(database: Pick<Database, 'pool' | 'replicas'>, reload: Reload): WithPgClient {
  const { pool } = database;
  return async (pgSettings, callback) => {
    const { [IS_MUTATION]: isMutation, ...rest } = pgSettings ?? {};
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
      // Where the mutation fails, so does what follows it in its transaction, and both failures may come at once.
      return settled([work, channelsOf(client)]);
    };
    return callback({
      async query<Row>(asked: PgClientQuery) {
        const work = (client: pg.ClientBase) => watched(client, query<Row>(client, asked));
        const trip = () =>
          isMutation ? inOneTrip(pool, settings, 'write', work) : readInOneTrip(database, asked.text, settings, work);
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

/** The database of a preset, which is reached by this function. */
export const pgServiceOf = (withPgClient: WithPgClient) =>
  ({
    name: 'main',
    schemas: ['public'],
    withPgClientKey: 'withPgClient',
    pgSettingsKey: 'pgSettings',
    adaptor: { createWithPgClient: () => withPgClient, makePgService },
    // Only the adaptor that is replaced here has clients with the rawClient of its type.
  }) as unknown as GraphileConfig.PgServiceConfiguration;
