// One transaction in one round trip, without begin and commit: PostgreSQL runs all messages up to a Sync message as one transaction.
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import pg from 'pg';
import type { Settings } from './fair-pool.ts';
import type { Wire } from './prepared.ts';
import { isTraced, traceQueries } from './trace-queries.ts';

/** What pg tells a query of the answers to it. */
interface Handlers {
  callback(error: Error | null, result?: pg.QueryResult): void;
  submit(connection: pg.Connection): void;
  requiresPreparation(): boolean;
  handleRowDescription(message: unknown): void;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, connection: Wire): void;
  handleError(error: Error, connection: Wire): void;
  handleReadyForQuery(connection: Wire): void;
  _getRows(connection: Wire): void;
  _result: { _types: unknown };
}
const Query = pg.Query as unknown as new (config: string | pg.QueryConfig) => Omit<pg.Query, 'submit'> & Handlers;

const { prepareValue } = (pg as unknown as { utils: { prepareValue(value: unknown): unknown } }).utils;

/** PostgreSQL allows no NUL in a text, and one in the text of a statement would end it. */
export const withoutNul = (text: string) => text.replaceAll('\0', '\uFFFD');

/** A statement of a round trip. It does not end the transaction, as a query of pg does, and is answered once the transaction is committed. */
class Statement extends Query {
  declare readonly name?: string;
  declare readonly text?: string;
  readonly result: Promise<pg.QueryResult>;

  constructor(client: pg.ClientBase, asked: string | pg.QueryConfig, values?: unknown[]) {
    const { values: own = values, ...config } = typeof asked === 'string' ? { text: asked } : asked;
    // A value that can't be sent throws here, before anything is sent.
    super({ ...config, values: own?.map(prepareValue) ?? [] });
    this._result._types = (client as unknown as { _types: unknown })._types;
    const { promise, resolve, reject } = Promise.withResolvers<pg.QueryResult>();
    this.callback = (error, result) => (error ? reject(error) : resolve(result!));
    this.result = promise.catch((error: Error) => {
      // Otherwise it tells where the answer was read, and not where it was waited for.
      Error.captureStackTrace(error);
      throw error;
    });
  }

  override requiresPreparation(): boolean {
    return true;
  }

  override _getRows(connection: Wire): void {
    connection.execute({});
  }
}

/** The statement for settings of these names in this order. It has a name itself, so that each connection parses it once. */
const setters = new LRUCache<string, { name: string; text: string }>({
  max: 100,
  memoMethod: (names) => {
    const calls = names.split('\n').map((name, place) => `set_config(${pg.escapeLiteral(name)}, $${place + 1}, true)`);
    // set_config() returns the value, which is not null, so all are set, and one row without columns comes back.
    const text = `select where ${calls.map((call) => `${call} is not null`).join(' and ')}`;
    return { name: `set ${hash('sha256', text, 'base64url')}`, text };
  },
});

/** Settings and statements before one Sync message. For pg it is one query. */
class RoundTrip extends Query {
  readonly statements: readonly Statement[];
  readonly #set: { name: string; text: string };
  readonly #values: string[];
  readonly #client: pg.ClientBase;
  /** Which of the statements is answered next; -1: that of the settings. */
  #place: number;

  constructor(client: pg.ClientBase, settings: Settings, statements: readonly Statement[]) {
    super('');
    this.#client = client;
    this.statements = statements;
    this.#set = setters.memo(Object.keys(settings).join('\n'));
    this.#values = Object.values(settings).map(withoutNul);
    this.#place = this.#values.length > 0 ? -1 : 0;
  }

  #answered(): { name?: string; text?: string } | undefined {
    return this.#place < 0 ? this.#set : this.statements[this.#place];
  }

  // pg notes that the statement of this name and text has been parsed. Its constructor sets both.
  get name(): string | undefined {
    return this.#answered()?.name;
  }
  set name(_: unknown) {}
  get text(): string | undefined {
    return this.#answered()?.text;
  }
  set text(_: unknown) {}

  override submit(connection: pg.Connection) {
    const wire = connection as unknown as Wire;
    if (this.#place < 0) {
      const { name, text } = this.#set;
      if (!wire.parsedStatements[name]) wire.parse({ name, text, types: [] });
      wire.bind({ statement: name, values: this.#values });
      wire.execute({});
    }
    for (const statement of this.statements) statement.submit(connection);
    wire.sync();
  }

  override handleRowDescription(message: unknown): void {
    this.statements[this.#place]?.handleRowDescription(message);
  }

  override handleDataRow(message: unknown): void {
    this.statements[this.#place]?.handleDataRow(message);
  }

  override handleCommandComplete(message: unknown, connection: Wire): void {
    this.statements[this.#place]?.handleCommandComplete(message, connection);
    this.#place += 1;
  }

  handleEmptyQuery(): void {
    this.#place += 1;
  }

  override handleError(error: Error, connection: Wire): void {
    // PostgreSQL has skipped what was sent behind the failure.
    for (const { name } of this.statements) if (name) delete connection.submittedNamedStatements[name];
    // PostgreSQL reports the failure before it ends the transaction. Until then, PgBouncer takes the skipped statements for prepared.
    const next = new Query('');
    next.callback = () => {
      for (const statement of this.statements) statement.handleError(error, connection);
    };
    this.#client.query(next);
  }

  override handleReadyForQuery(connection: Wire): void {
    for (const statement of this.statements) statement.handleReadyForQuery(connection);
  }
}

/**
 * Sends what `work` asks for before it first waits, in one transaction under these settings. If any of it fails, PostgreSQL rolls the
 * transaction back, and all of it fails.
 */
export function sendAsTransaction<Client extends pg.ClientBase, T>(
  client: Client,
  settings: Settings,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const statements: Statement[] = [];
  let failure: Error | null = null;
  let isCollecting = true;
  const collect = (asked: string | pg.QueryConfig | pg.Submittable, values?: unknown[]) => {
    // The message that closes a prepared statement goes before the transaction.
    if (typeof asked === 'object' && 'submit' in asked) return client.query(asked);
    if (!isCollecting) throw new Error('a transaction of one round trip was sent before this statement');
    try {
      const statement = new Statement(client, asked, values);
      statements.push(statement);
      return statement.result;
    } catch (error) {
      failure = error as Error;
      throw error;
    }
  };
  const collector: Client = Object.create(client, { query: { value: collect, writable: true } });
  if (isTraced(client)) traceQueries(collector);
  const result = work(collector);
  isCollecting = false;
  if (failure) {
    for (const statement of statements) {
      // `work` may have failed before it waited for this one.
      statement.result.catch(() => {});
      statement.callback(failure);
    }
  } else if (statements.length > 0) {
    client.query(new RoundTrip(client, settings, statements));
  }
  return result;
}
