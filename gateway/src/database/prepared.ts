// Prepared statements: a connection parses and plans a statement once, and keeps the hundred that it used last.
import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import { isPipelined } from './transaction.ts';

const STATEMENTS_PER_CONNECTION = 100;

// The types of pg leave out what it keeps of a connection.
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
    const gone = letGo(client, parsed, leastUsed!);
    if (!isPipelined(client)) await gone;
  }
  return client.query<Row>({ ...config, name });
}
