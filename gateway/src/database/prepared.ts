// Prepared statements: a connection parses and plans a statement once, and keeps the hundred that it used last.
import { LRUCache } from 'lru-cache';
import pg from 'pg';
import { isPipelined } from './transaction.ts';

const STATEMENTS_PER_CONNECTION = 100;

// The types of pg leave out what it keeps of a connection.
type Connected = pg.ClientBase & { connection?: { parsedStatements?: Record<string, string> } };

interface Wire {
  parsedStatements: Record<string, string>;
  close(what: { type: 'S'; name: string }): void;
  sync(): void;
}

/** The prepared statements of each connection, the least recently used first. */
const prepared = new WeakMap<object, LRUCache<string, true>>();

function statementsOf(client: Connected) {
  const statements = prepared.get(client) ?? new LRUCache<string, true>({ max: STATEMENTS_PER_CONNECTION + 1 });
  prepared.set(client, statements);
  return statements;
}

/**
 * Closes a prepared statement by the message of the protocol. DEALLOCATE would not do: a pooler such as PgBouncer gives statements
 * names of its own and translates them in messages only, and an aborted transaction refuses it.
 */
function letGo(client: Connected, name: string): Promise<void> {
  return new Promise((resolve) => {
    const closing = new pg.Query({ text: '' }) as pg.Query & { callback: () => void };
    closing.submit = (connection) => {
      const { close, sync, parsedStatements } = connection as unknown as Wire;
      delete parsedStatements[name];
      close.call(connection, { type: 'S', name });
      sync.call(connection);
    };
    // If the connection broke, its statements are gone.
    closing.callback = resolve;
    client.query(closing);
  });
}

/** Runs a statement, as a prepared one where it has a name and the engine keeps names. One name stands for one text. */
export async function queryPrepared<Row extends pg.QueryResultRow>(
  client: pg.ClientBase,
  { name, ...config }: pg.QueryConfig & { rowMode?: 'array' },
): Promise<pg.QueryResult<Row>> {
  const parsed = (client as Connected).connection?.parsedStatements;
  if (!name || !parsed) return client.query<Row>(config);
  const statements = statementsOf(client);
  statements.set(name, true);
  if (statements.size > STATEMENTS_PER_CONNECTION) {
    const [leastUsed] = statements.rkeys();
    statements.delete(leastUsed!);
    const gone = letGo(client, leastUsed!);
    if (!isPipelined(client)) await gone;
  }
  return client.query<Row>({ ...config, name });
}
