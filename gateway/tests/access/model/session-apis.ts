// The APIs for the model-based test: any session, any operation, and answers that can be compared with the model.
import type pg from 'pg';
import { inTransaction } from '../../../src/database/index.ts';
import type { TestGateway } from '../../support/gateway.ts';
import type { Way } from '../model.ts';
import type { Session } from './world.ts';

/** A memory as a caller sees it. */
export interface Seen {
  id: string;
  content: string;
  scope: string;
  project: string | null;
  branch: string | null;
  kind: string;
  creator: string;
}

export interface Stats {
  total: number;
  by_kind: Record<string, number>;
  by_scope: Record<string, number>;
  by_project: Record<string, number>;
  by_creator: Record<string, number>;
  embedded: number;
  awaiting_embedding: number;
}

/** Parameters by the names of save_memory and update_memory. `ttl: 'soon'` is a moment from now, by the database's clock. */
export type Fields = Record<string, unknown>;
export interface Filter {
  scope?: string;
  project?: string;
  branch?: string;
  kind?: string;
  /** By default what has been archived is left out; but SQL on the table shows all. */
  includesArchived?: boolean;
}

/** `code` is one of docs/reference/errors.md, also where PostgreSQL's own error comes through as it is in SQL. */
export type Answer<Done> = { code: string; text: string } | ({ code: null } & Done);

/** The answer, which must be none that refuses. */
export function accepted<Done>(answer: Answer<Done>, where = 'it'): Done {
  if (answer.code !== null) throw new Error(`${where} was refused with ${answer.code}: ${answer.text}`);
  return answer;
}

export interface SessionApi {
  name: string;
  way: Way;
  save(session: Session, fields: Fields): Promise<Answer<{ status: string; memory: Seen; ttl: Date | null }>>;
  update(session: Session, id: string, fields: Fields): Promise<Answer<{ memory: Seen; ttl: Date | null }>>;
  remove(session: Session, id: string): Promise<Answer<{ id: string }>>;
  get(session: Session, id: string): Promise<Answer<{ memory: Seen }>>;
  cleanUp(session: Session): Promise<Answer<{ deleted: number }>>;
  list(session: Session, filter: Filter): Promise<Answer<{ seen: Seen[]; count: number }>>;
  search(session: Session, query: string, mode: string, filter: Filter): Promise<Answer<{ seen: Seen[] }>>;
  stats(session: Session): Promise<Answer<{ stats: Stats }>>;
}

export const errorCodes: Record<string, string> = { '42501': 'L9SCP', '23505': 'L9VAL' };

export interface Apis {
  graphql: SessionApi;
  mcp: SessionApi;
  sql: SessionApi;
  table: SessionApi;
}

// biome-ignore lint/suspicious/noExplicitAny: rows and results differ by question
export type Json = any;

export const camel = (fields: Fields) =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name.replace(/_(.)/g, (_, letter) => letter.toUpperCase()), value]),
  );

/** Any question to GraphQL, as a session. */
export const askGraphql =
  (gateway: TestGateway) =>
  async <Done>(session: Session, query: string, variables: object, read: (data: Json) => Done) => {
    const response = await fetch(`${gateway.instance.url}/graphql`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(session.token ? { authorization: `Bearer ${session.token}` } : {}),
      },
      body: JSON.stringify({ query, variables }),
    });
    const { data, errors } = (await response.json()) as Json;
    if (errors) return { code: String(errors[0].extensions?.sqlstate), text: String(errors[0].message) };
    return { code: null, ...read(data) };
  };

/** Any call of a tool, as a session. */
export const askMcp =
  (gateway: TestGateway) =>
  async <Done>(session: Session, name: string, args: object, read: (result: Json) => Done) => {
    const response = await fetch(`${gateway.instance.url}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${session.apiKey}`,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
    });
    const { result, error } = (await response.json()) as Json;
    if (error || result.isError) {
      const text: string = error?.message ?? result.content[0].text;
      return { code: /\((\w+)\)/.exec(text)?.[1] ?? '?', text };
    }
    return { code: null, ...read(result.structuredContent) };
  };

/** SQL of a session in a transaction of its own, under its role and claims. */
export const sqlOf = <T>(
  gateway: TestGateway,
  session: Session,
  work: (client: pg.ClientBase) => Promise<T>,
): Promise<T> => inTransaction(gateway.instance.database.pool, session.settings, work);

/** One statement of a session. */
export async function statement(
  gateway: TestGateway,
  session: Session,
  text: string,
  values: unknown[] = [],
): Promise<Answer<{ rows: Json[] }>> {
  try {
    return { code: null, rows: (await sqlOf(gateway, session, (client) => client.query(text, values))).rows };
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return { code: errorCodes[code] ?? code, text: message };
  }
}
