// A span for each statement that is sent, where its connection is used in a traced request or job.
import type pg from 'pg';
import { sqlstateOf } from '../base/errors.ts';
import { type Span, type SpanOptions, startSpan } from '../base/tracing.ts';

const VERBS =
  /^\s*(select|insert|update|delete|with|begin|commit|rollback|savepoint|release|set|reset|listen|deallocate)\b/i;
const NAME = '((?:"?[a-z_][a-z0-9_]*"?\\.)?"?[a-z_][a-z0-9_]*"?)';
/** The first table or function that a statement names. */
const TARGETS = [new RegExp(`\\b(?:from|into|update)\\s+${NAME}`, 'i'), new RegExp(`^\\s*select\\s+${NAME}\\(`, 'i')];

/** The verb and the table or function. Nothing else of the text: where it has a literal, what looks like a name may be part of it. */
export function describeStatement(text: string): SpanOptions {
  const verb = VERBS.exec(text)?.[1]?.toLowerCase() ?? 'statement';
  const named = text.includes("'") ? undefined : TARGETS.map((target) => target.exec(text)?.[1]).find(Boolean);
  const target = named?.replaceAll('"', '').toLowerCase();
  return {
    name: target ? `${verb} ${target}` : verb,
    kind: 'client',
    attributes: { 'db.system.name': 'postgresql', 'db.operation.name': verb, 'db.collection.name': target },
  };
}

type Query = (...args: unknown[]) => unknown;
type Callback = (error: Error | null, result?: pg.QueryResult) => void;

const textOf = (asked: unknown): string => {
  const text = typeof asked === 'object' && asked !== null && 'text' in asked ? asked.text : asked;
  return typeof text === 'string' ? text : '';
};

function end(span: Span, error: unknown, result?: pg.QueryResult) {
  if (error) span.fail(sqlstateOf(error) ?? 'error');
  else span.set({ 'db.response.returned_rows': result?.rowCount ?? undefined });
  span.end();
}

const tracedClients = new WeakSet<pg.ClientBase>();

export const isTraced = (client: pg.ClientBase) => tracedClients.has(client);

/** Traces all statements of this client, except for objects that submit messages of their own. */
export function traceQueries(client: pg.ClientBase): void {
  tracedClients.add(client);
  const query = client.query.bind(client) as Query;
  const traced: Query = (...args) => {
    if (typeof args[0] === 'object' && args[0] !== null && 'submit' in args[0]) return query(...args);
    const span = startSpan(() => describeStatement(textOf(args[0])));
    if (!span) return query(...args);
    const last = args.at(-1);
    if (typeof last === 'function') {
      const callback: Callback = (error, result) => {
        end(span, error, result);
        (last as Callback)(error, result);
      };
      return query(...args.slice(0, -1), callback);
    }
    const answer = query(...args) as Promise<pg.QueryResult>;
    answer.then(
      (result) => end(span, null, result),
      (error: unknown) => end(span, error),
    );
    return answer;
  };
  client.query = traced as typeof client.query;
}
