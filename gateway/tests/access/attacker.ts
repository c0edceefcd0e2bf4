// What an attacker is after, and what all attacks share.

import type pg from 'pg';
import { serverUrl } from '../../../db/tests/support/engine.ts';
import type { Embedder } from '../../src/embeddings/index.ts';
import { errorKinds } from '../../src/errors.ts';
import type { TestGateway } from '../support/gateway.ts';

export const MISSING = '01900000-0000-7000-8000-000000000000';
export const OTHER_TENANT = '00000000-0000-7000-8000-0000000000ff';

/** A memory that C may know nothing of, with a word of its own in every field that takes one. */
export interface Hidden {
  id: string;
  content: string;
  contentHash: string;
  projectId: string;
  threadId: string;
  /** What must be seen nowhere: neither its texts nor its id. */
  traces: string[];
}

/** Plants one memory in l-private, and one of another tenant. */
export async function plantHidden(
  gateway: TestGateway,
): Promise<{ ofL: Hidden; ofOtherTenant: Hidden; traces: string[] }> {
  await gateway.asSuperuser(
    `insert into public.tenants (tenant_id, name) values ('${OTHER_TENANT}', 'acme');
     insert into public.scopes (tenant_id, scope, is_project_scoped)
       select '${OTHER_TENANT}', scope, is_project_scoped from public.scopes where tenant_id <> '${OTHER_TENANT}'
       on conflict do nothing;
     insert into public.actors (tenant_id, caller, creator, source, agent, role, readable_scopes, writable_scopes)
       select '${OTHER_TENANT}', 'C', 'Acme-Agent', 'acme-source', 'acme', 'l9_agent', '{developer,global}', '{developer,global}'
       on conflict do nothing;`,
  );
  const plant = async (
    caller: string,
    scope: string,
    words: string,
    claims: Record<string, string>,
  ): Promise<Hidden> => {
    const word = (field: string) => `${words}-${field}`;
    const kind = `${words}_kind`;
    const content = `${word('content')} lies buried under the old oak`;
    const save = `select (memory).packet_id as id, encode((memory).content_hash, 'hex') as hash from public.save_memory(
      $1, scope => $2, project_id => $3, kind => $4, tags => array[$5], thread_id => $6, metadata => jsonb_build_object($7::text, $7::text),
      envelope => jsonb_build_object($8::text, $8::text), routing => jsonb_build_object($9::text, 1),
      provenance => jsonb_build_object($10::text, 1), correlation_id => $11, session_id => $12, trace_id => $13, idempotency_key => $14)`;
    const fields = ['tag', 'thread', 'meta', 'field', 'route', 'origin', 'correlation', 'session', 'trace', 'key'];
    const values = [content, scope, word('project'), kind, ...fields.map(word)];
    const [row] = await gateway.sql(caller, save, values, claims);
    return {
      id: row.id,
      content,
      contentHash: row.hash,
      projectId: word('project'),
      threadId: word('thread'),
      traces: [`${words}-`, `${words}_`, row.id, row.hash],
    };
  };
  const ofL = await plant('L', 'l-private', 'quincunx', {});
  const ofOtherTenant = await plant('C', 'global', 'zeugmatic', { 'jwt.claims.tenant_id': OTHER_TENANT }).catch(() =>
    plant('C', 'developer', 'zeugmatic', { 'jwt.claims.tenant_id': OTHER_TENANT }),
  );
  // Changed once, so that wherever former versions are kept there is one.
  await gateway.sql('L', 'select public.update_memory($1, importance => 0.9)', [ofL.id]);
  return { ofL, ofOtherTenant, traces: [...ofL.traces, ...ofOtherTenant.traces] };
}

/** Everything of the hidden rows as only a superuser sees it: equal before and after whatever was tried. */
export const snapshot = async (gateway: TestGateway): Promise<string> => {
  const rows = await gateway.asSuperuser(
    `select jsonb_agg(to_jsonb(p) order by packet_id)::text as all from public.packet_store p
     where scope = 'l-private' or tenant_id = '${OTHER_TENANT}'`,
  );
  return rows[0].all;
};

/** An embedder that costs nothing, for tests that are not about meaning. */
export const cheapEmbedder: Embedder = {
  model: 'cheap',
  dimensions: 3,
  embed: async (texts) => texts.map((text) => [1, (text.length % 7) / 10, 0]),
  chunk: async () => [],
  close: async () => {},
};

export interface Caught {
  code: string;
  message: string;
}

/** Runs one statement inside a transaction that goes on afterwards; gives its rows, or how it failed. */
export async function attempt(
  client: pg.ClientBase,
  statement: string,
  values: unknown[] = [],
  // biome-ignore lint/suspicious/noExplicitAny: rows differ by query
): Promise<{ rows: any[]; error: null } | { rows: null; error: Caught }> {
  await client.query('savepoint attempt');
  try {
    const { rows } = await client.query(statement, values);
    return { rows, error: null };
  } catch (error) {
    const { code, message } = error as Caught;
    return { rows: null, error: { code, message } };
  } finally {
    await client.query('rollback to savepoint attempt');
  }
}

/** One of the errors of docs/reference/errors.md, never INTERNAL. */
export function assertDocumented(code: string | undefined, what: string): void {
  expect(code, `${what}: ${code}`).not.toBeUndefined();
  expect(
    Object.values(errorKinds).some((kind) => kind.code === code),
    `${what}: ${code}`,
  ).toBe(true);
}

export function assertNoTrace(text: string, traces: readonly string[], what: string): void {
  for (const trace of traces) {
    const at = text.indexOf(trace);
    expect(at, `${what} shows ${trace}: …${text.slice(Math.max(0, at - 60), at + 60)}…`).toBe(-1);
  }
}

/** Goes into most payloads, so that one is known wherever it turns up. */
export const BRAND = 'marzipan';

const branded = [
  "'); drop table public.packet_store; --",
  "' or '1'='1",
  "'; set role l9_admin; --",
  "'; set local role l9_owner; select '",
  "' || set_config('jwt.claims.caller', 'L', true) || '",
  "'; select set_config('role', 'l9_admin', false); --",
  '"; reset role; reset session authorization; --',
  '$$; set session authorization postgres; $$',
  '$sql$ limit 1 $sql$',
  "\\'; delete from packet_store; --",
  "E'\\x27' U&'\\0027'",
  '\u2019 or 1=1 \u02bc \uff07 \uff02',
  '/* unclosed',
  '*/ -- %',
  '%s %I %L %1$s %n %%',
  '%_\\%',
  '{"a": "b", "jwt.claims.caller": "L"}',
  '"]}, "role": "l9_admin", {"',
  '{a,b,"c}',
  "ordinary:* & !!('<->' | )",
  '<-> (((( & | ! :A*B',
  '#{x} {{7*7}} $' + '{process.env}',
  '<script>alert(1)</script>\r\nSet-Cookie: a=b',
  '\u0001\u0007\u001b[31m\u007f\u0085\u200b\u202e\ufeff',
  '../../../../etc/passwd\\..\\..',
  '🦊'.repeat(50),
  'x'.repeat(70_000),
  'nul \0 nul',
  'half a pair \ud83d',
  '\udc00 the other half',
];
const bare = [
  '\\',
  "'",
  '{*}',
  '[1,2,3]',
  '__proto__',
  'constructor',
  'null',
  'NaN',
  'infinity',
  '2026-12-31T23:59:59Z',
  MISSING,
];

/** Texts that have broken something somewhere. */
const all: readonly string[] = [...branded.map((text) => `${text} ${BRAND}`), ...bare];
/** A part of them for each place that takes a text, another one for the next: a smaller one in WebAssembly, where each takes long. */
export const payloadsFor = (place: number): readonly string[] =>
  all.filter((_, n) => (n + place) % (serverUrl ? 2 : 4) === 0);

/** Whether PostgreSQL can keep a text as it is. */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed();
