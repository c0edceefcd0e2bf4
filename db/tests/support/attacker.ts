// What an attacker looks for, and what all attacks share.
import type pg from 'pg';
import type { Sessions } from './sessions.ts';

export const MISSING = '01900000-0000-7000-8000-000000000000';
export const OTHER_TENANT = '00000000-0000-7000-8000-0000000000ff';

/** The day on which hidden memories happened. */
const HIDDEN_DAY = '1987-06-05';

/** A memory that C must not learn about, with a unique word in every field that takes one. */
export interface Hidden {
  id: string;
  content: string;
  contentHash: string;
  projectId: string;
  threadId: string;
  /** Its texts, id, hash and event time, which must appear in no answer. */
  traces: string[];
}

/** Plants one memory in l-private, and one of another tenant. */
export async function plantHidden(db: Sessions): Promise<{ ofL: Hidden; ofOtherTenant: Hidden; traces: string[] }> {
  await db.asSuperuser(
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
      provenance => jsonb_build_object($10::text, 1), correlation_id => $11, session_id => $12, trace_id => $13, idempotency_key => $14,
      speaker => $15, "timestamp" => $16)`;
    const fields = [
      'tag',
      'thread',
      'meta',
      'field',
      'route',
      'origin',
      'correlation',
      'session',
      'trace',
      'key',
      'speaker',
    ];
    const values = [content, scope, word('project'), kind, ...fields.map(word), `${HIDDEN_DAY}T04:03:02Z`];
    const [row] = await db.sql(caller, save, values, claims);
    return {
      id: row.id,
      content,
      contentHash: row.hash,
      projectId: word('project'),
      threadId: word('thread'),
      traces: [`${words}-`, `${words}_`, row.id, row.hash, HIDDEN_DAY],
    };
  };
  const ofL = await plant('L', 'l-private', 'quincunx', {});
  const ofOtherTenant = await plant('C', 'global', 'zeugmatic', { 'jwt.claims.tenant_id': OTHER_TENANT }).catch(() =>
    plant('C', 'developer', 'zeugmatic', { 'jwt.claims.tenant_id': OTHER_TENANT }),
  );
  // One change, so that a former version exists wherever versions are kept.
  await db.sql('L', 'select public.update_memory($1, importance => 0.9)', [ofL.id]);
  return { ofL, ofOtherTenant, traces: [...ofL.traces, ...ofOtherTenant.traces] };
}

/** The hidden rows as a superuser sees them, to be compared before and after an attack. */
export const snapshot = async (db: Sessions): Promise<string> => {
  const rows = await db.asSuperuser(
    `select jsonb_agg(to_jsonb(p) order by packet_id)::text as all from public.packet_store p
     where scope = 'l-private' or tenant_id = '${OTHER_TENANT}'`,
  );
  return rows[0].all;
};

export interface Caught {
  code: string;
  message: string;
}

/** Runs one statement behind a savepoint, which is rolled back; returns its rows or its error. */
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

export function assertNoTrace(text: string, traces: readonly string[], what: string): void {
  for (const trace of traces) {
    const at = text.indexOf(trace);
    expect(at, `${what} shows ${trace}: …${text.slice(Math.max(0, at - 60), at + 60)}…`).toBe(-1);
  }
}

/** A word in most payloads, by which they are recognised in any text. */
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

/** Texts that have broken parsers before. */
const all: readonly string[] = [...branded.map((text) => `${text} ${BRAND}`), ...bare];
/**
 * Every fourth payload, in turn for each place that takes a text. There are hundreds of places, so that each payload is tried in many
 * of them, and in every type; which four meet says nothing, because a place passes every text to the same parsers.
 */
export const payloadsFor = (place: number): readonly string[] => all.filter((_, n) => (n + place) % 4 === 0);
/** For the place that is asked all of them. */
export const everyPayload = all;

/** True if PostgreSQL can store the text unchanged. */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed();
