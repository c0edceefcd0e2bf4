// Prepared statements: a connection parses and plans a statement once, and keeps the hundred that it used last.
import { LRUCache } from 'lru-cache';
import pg from 'pg';

const STATEMENTS_PER_CONNECTION = 100;

/** The connection of pg, as its own queries use it. The types of pg leave it out. */
export interface Wire {
  parsedStatements: Record<string, string>;
  submittedNamedStatements: Record<string, string>;
  parse(message: { name: string; text: string; types: [] }): void;
  bind(message: { statement: string; values: unknown[] }): void;
  execute(message: object): void;
  close(what: { type: 'S'; name: string }): void;
  sync(): void;
}

type Connected = pg.ClientBase & { connection?: Pick<Wire, 'parsedStatements'> };

/** 'unparsed': its parsing failed, or was skipped since a statement before it failed. */
type State = 'sent' | 'unparsed';

/** The prepared statements of each connection, the least recently used first. */
const prepared = new WeakMap<object, LRUCache<string, State>>();

function statementsOf(connection: object) {
  const statements = prepared.get(connection) ?? new LRUCache<string, State>({ max: STATEMENTS_PER_CONNECTION + 1 });
  prepared.set(connection, statements);
  return statements;
}

/**
 * Closes a prepared statement by the message of the protocol. DEALLOCATE would not do: a pooler such as PgBouncer gives statements
 * names of its own and translates them in messages only, and an aborted transaction refuses it.
 */
function closeStatement(client: Connected, name: string): void {
  const closing = new pg.Query({ text: '' }) as pg.Query & { callback: () => void };
  closing.submit = (connection) => {
    const { close, sync, parsedStatements } = connection as unknown as Wire;
    delete parsedStatements[name];
    close.call(connection, { type: 'S', name });
    sync.call(connection);
  };
  // If the connection broke, its statements are gone.
  closing.callback = () => {};
  client.query(closing);
}

/** Runs a statement, as a prepared one where it has a name and the engine keeps names. One name stands for one text. */
export async function queryPrepared<Row extends pg.QueryResultRow>(
  client: pg.ClientBase,
  { name, ...config }: pg.QueryConfig & { rowMode?: 'array' },
): Promise<pg.QueryResult<Row>> {
  const { connection } = client as Connected;
  if (!name || !connection?.parsedStatements) return client.query<Row>(config);
  const statements = statementsOf(connection);
  // PgBouncer keeps also the name of a statement that was not parsed, and refuses to parse it again before it is closed.
  if (statements.get(name) === 'unparsed') closeStatement(client, name);
  statements.set(name, 'sent');
  if (statements.size > STATEMENTS_PER_CONNECTION) {
    const [leastUsed] = statements.rkeys();
    statements.delete(leastUsed!);
    closeStatement(client, leastUsed!);
  }
  try {
    return await client.query<Row>({ ...config, name });
  } catch (error) {
    if (!connection.parsedStatements[name]) statements.set(name, 'unparsed');
    throw error;
  }
}
