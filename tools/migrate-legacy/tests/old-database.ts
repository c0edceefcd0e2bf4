// Databases like the old ones, and the command that moves them, run as a separate process.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import pg from 'pg';
import { pino } from 'pino';
import { loadConfig } from '../../../gateway/src/config/config.ts';
import { openEmbedded } from '../../../gateway/src/database/embedded.ts';
import { createTestHome, type TestHome } from '../../../gateway/tests/support/home.ts';
import { SHORT_LIVED } from '../../../gateway/tests/support/short-lived.ts';
import type { Report, TableReport } from '../report.ts';

const cli = join(import.meta.dirname, '..', '..', '..', 'gateway', 'src', 'cli.ts');
const killer = join(import.meta.dirname, 'kill-in-the-middle.ts');

// biome-ignore lint/suspicious/noExplicitAny: rows differ by query
export type Rows = any[];

export interface Ran {
  code: number | null;
  out: string;
  err: string;
  report: Report;
  table(name: string): TableReport;
}

export interface OldHome {
  home: TestHome;
  env: Record<string, string>;
  /** Statements of a superuser, on a database that nothing else has open; the rows of the last. */
  superuser<T>(work: (query: (sql: string, values?: unknown[]) => Promise<Rows>) => Promise<T>): Promise<T>;
  query(sql: string, values?: unknown[]): Promise<Rows>;
  /** l9-memory migrate-legacy --json. */
  migrate(...args: string[]): Promise<Ran>;
  /** The same, killed in the middle: the signal that ended it. */
  migrateAndKill(...args: string[]): Promise<string | null>;
  drop(): Promise<void>;
}

export const ownerUrlOf = (superuserUrl: string, gatewayUrl: string) => {
  const url = new URL(superuserUrl);
  url.username = 'l9_owner';
  url.password = new URL(gatewayUrl).password;
  return url.href;
};

export async function createOldHome(): Promise<OldHome> {
  const home = await createTestHome();
  const env: Record<string, string> = { PATH: process.env.PATH ?? '', LOG_LEVEL: 'warn', ...SHORT_LIVED, ...home.env };
  if (home.superuserUrl) env.DATABASE_OWNER_URL = ownerUrlOf(home.superuserUrl, home.env.DATABASE_URL!);

  const start = (args: string[], before: string[] = []) =>
    spawn(process.execPath, [...before, cli, 'migrate-legacy', '--json', ...args], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  const old: OldHome = {
    home,
    env,
    async superuser(work) {
      if (home.superuserUrl) {
        const client = new pg.Client({ connectionString: home.superuserUrl });
        await client.connect();
        try {
          return await work(async (sql, values) => (await client.query(sql, values)).rows);
        } finally {
          await client.end();
        }
      }
      const database = await openEmbedded(loadConfig(home.env), pino({ level: 'silent' }));
      const client = await database.pool.connect();
      try {
        await client.query('set session authorization postgres');
        return await work(async (sql, values) => (await client.query(sql, values)).rows);
      } finally {
        client.release();
        await database.close();
      }
    },
    query: (sql, values) => old.superuser((query) => query(sql, values)),
    migrate: (...args) =>
      new Promise((resolve) => {
        const child = start(args);
        let out = '';
        let err = '';
        child.stdout.on('data', (data) => (out += data));
        child.stderr.on('data', (data) => (err += data));
        child.on('close', (code) => {
          const report = (out.startsWith('{') ? JSON.parse(out) : null) as Report;
          const table = (name: string) => {
            const found = report.tables.find((one) => one.name === name);
            if (!found) throw new Error(`no ${name} in the report`);
            return found;
          };
          resolve({ code, out, err, report, table });
        });
      }),
    migrateAndKill: (...args) =>
      new Promise((resolve) => {
        start(args, ['--import', killer]).on('close', (_code, signal) => resolve(signal));
      }),
    drop: () => home.drop(),
  };
  return old;
}

/** Hands the old schema over, as docs/how-to/migrate-legacy.md says. */
export const GIVE_TO_OWNER = `
  do $$
  declare
    old record;
  begin
    alter schema memory owner to l9_owner;
    for old in select c.oid::regclass as name from pg_class c where c.relnamespace = 'memory'::regnamespace and c.relkind in ('r', 'p') loop
      execute format('alter table %s owner to l9_owner', old.name);
    end loop;
  end
  $$`;

export const uuid = (n: number) => `f000000${n}-1111-4222-8333-444444444444`;
export const USER = '12345678-1111-4222-8333-444444444444';

/** Three tiers, in three styles, with all that goes wrong in years; and an audit table. */
export const OLD_SCHEMA = `
  create schema memory;
  create type memory.mood as enum ('happy', 'grim');
  create function memory.touch() returns trigger language plpgsql as $$ begin new.updated_at := now(); return new; end $$;
  create table memory.long_term (
    id uuid primary key default gen_random_uuid(),
    user_id text,
    kind text,
    content text,
    scope text,
    metadata jsonb,
    importance integer,
    embedding extensions.vector(4),
    tags text[],
    project_id text,
    created_at timestamptz,
    updated_at timestamptz,
    expires_at timestamptz,
    mood memory.mood,
    words tsvector generated always as (to_tsvector('simple', coalesce(left(content, 1000), ''))) stored
  );
  create trigger touch before update of kind on memory.long_term for each row execute function memory.touch();
  create table memory.mediumterm (
    memory_id bigint generated always as identity primary key,
    userid uuid,
    memory_type varchar(40),
    text text,
    scope text,
    meta text,
    importance_score numeric,
    vector real[],
    labels jsonb,
    session text,
    created timestamp,
    ttl integer,
    big jsonb
  );
  create table memory."shortTerm" (
    id text primary key,
    content jsonb,
    metadata jsonb,
    tags text,
    "timestamp" bigint,
    expires interval,
    is_deleted boolean
  );
  create table memory.audit_log (
    id bigint generated always as identity primary key,
    action text,
    memory_id text,
    table_name text,
    actor text,
    scope text,
    success boolean,
    details jsonb,
    created_at timestamptz
  );`;

/** A value for each rule; ids say which. */
export const OLD_ROWS = `
  insert into memory.long_term (id, user_id, kind, content, scope, metadata, importance, embedding, tags, project_id, created_at, updated_at, expires_at, mood) values
    ('${uuid(1)}', null, 'decision', 'We ship on Tuesdays.', 'developer', '{"creator": "Cursor-IDE", "source": "cursor-ide", "ticket": 12345678901234567890, "notes": {"by": "hand"}}', 8, '[1,2,2,4]', '{release, " release ", weekly}', 'l9', '2024-03-01T10:00:00.123456Z', '2024-03-02T10:00:00Z', null, 'happy'),
    ('${uuid(2)}', '${USER}', 'User Preference', 'The founder likes short answers.', 'shared', '{"creator": "somebody else"}', 10, '[0,0,0,0]', null, 'l9', '2024-03-01T11:00:00Z', null, null, null),
    ('${uuid(3)}', 'igor', null, 'A cursor memory without a writer.', 'cursor', null, -3, null, '{}', null, null, null, '2999-01-01T00:00:00Z', null),
    ('${uuid(4)}', null, 'note', 'Only for L.', 'l-private', '"{\\"creator\\": \\"l-cto\\"}"', null, '[4,3,2,1]', null, 'l9', '2024-03-01T12:00:00Z', null, null, null),
    ('${uuid(5)}', null, 'note', 'Of a team nobody knows here.', 'team-red', '{}', 5, null, null, 'l9', now(), null, null, null),
    ('${uuid(6)}', null, 'note', E' \\n ', 'developer', '{}', 5, null, null, 'l9', now(), null, null, null),
    ('${uuid(7)}', null, 'note', repeat('x', 1048577), 'developer', '{}', 5, null, null, 'l9', now(), null, null, null),
    ('${uuid(8)}', null, 'note', 'Long gone.', 'developer', '{}', 5, null, null, 'l9', '2020-01-01', null, '2020-02-01', null),
    ('${uuid(9)}', null, 'note', 'Its metadata is a list.', 'developer', '[1, 2]', 5, '[1,1,1,1]', null, 'l9', '2999-01-01', null, null, null);
  insert into memory.mediumterm (userid, memory_type, text, scope, meta, importance_score, vector, labels, session, created, ttl, big) values
    (null, 'decision', '  we SHIP on   tuesdays. ', 'developer', '{"project": "l9", "creator": "c"}', 2.5, '{1,0,0,0}', '["weekly", "calendar"]', 's1', '2024-01-01 08:00:00', 2147483647, '{"n": 1e3}'),
    ('${USER}', 'fact', 'The staging host is called heron.', 'developer', '{"project": "l9"}', 7, '{1,2,3}', '["infra"]', repeat('s', 300), '2024-01-02 08:00:00', null, null),
    (null, 'fact', 'Meta that is no JSON.', 'global', 'not json {', null, null, '{"a": 1}', null, null, null, null),
    (null, 'fact', 'Nobody says which project.', 'developer', null, null, null, null, null, '2024-01-02', null, null);
  insert into memory."shortTerm" (id, content, metadata, tags, "timestamp", expires, is_deleted) values
    ('st-1', '"A line of JSON."', '{"scope": "global", "creator": "L-CTO"}', 'one, two ,,one', 1704067200, null, false),
    ('st-2', '{"content": "Taken out of an object.", "lang": "en"}', '{"scope": "shared"}', null, 1704067200000, '1000 years', null),
    ('st-3', '"Marked as deleted."', '{"scope": "global"}', null, 1704067200, null, true),
    ('st-4', '"We ship on Tuesdays."', '{"scope": "developer", "project_id": "l9", "kind": "decision"}', 'quick', 1704067200, '1 hour', null),
    ('st-5', '"No scope at all."', '{}', null, null, null, null);
  insert into memory.audit_log (action, memory_id, table_name, actor, scope, success, details, created_at) values
    ('memory.save', '${uuid(1)}', 'long_term', 'Cursor-IDE', 'cursor', true, '{"k": 3, "creator": "Cursor-IDE", "source": "cursor-ide", "tool_name": "save_memory", "content": "short", "ids": ["a", "b"], "query": "where is heron"}', '2024-03-01T10:00:00Z'),
    ('SEARCH_MEMORY', null, null, 'igor the great', 'shared', false, '{"said": "more than one word"}', '2024-03-01T10:05:00Z'),
    ('delete', '2', 'memory.mediumterm', 'l-cto', null, null, null, '2024-03-01T10:06:00Z'),
    ('frobnicate', null, null, 'C', null, true, null, '2024-03-01T10:07:00Z'),
    ('read', null, null, null, null, true, null, null);`;

/** Everything in the database, as one text for each table. */
export const DUMP = `
  select c.oid::regclass::text as name,
    (xpath('/row/h/text()', query_to_xml(format('select count(*) || md5(coalesce(string_agg(t::text, chr(10) order by t::text), '''')) as h from %s t', c.oid::regclass), true, true, '')))[1]::text as rows
  from pg_class c
  where c.relkind in ('r', 'p') and c.relnamespace in (select oid from pg_namespace where nspowner = 'l9_owner'::regrole and nspname <> 'graphile_migrate' or nspname = 'memory')
  order by 1`;

/** Rows by outcome, of each table. */
export const counts = (ran: Ran) =>
  Object.fromEntries(
    ran.report.tables.map(({ name, outcomes }) => [
      name,
      Object.fromEntries(Object.entries(outcomes).map(([what, { rows }]) => [what, rows])),
    ]),
  );
/** What the first move of OLD_ROWS comes to. */
export const FIRST = {
  'memory.long_term': { moved: 4, blank: 1, long: 1, expired: 1, scope: 1, project: 1 },
  'memory.mediumterm': { moved: 2, merged: 1, project: 1 },
  'memory."shortTerm"': { moved: 2, deleted: 1, expired: 1, scope: 1 },
  'memory.audit_log': { recorded: 3, operation: 1, time: 1 },
};
