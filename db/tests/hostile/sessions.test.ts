// Attacks by a session with its own statements: impersonation, and probing for hidden rows through conflicts, foreign keys
// and locks.

import pg from 'pg';
import { attempt, type Hidden, MISSING, OTHER_TENANT, plantHidden, snapshot } from '../support/attacker.ts';
import { itOnServer } from '../support/on-engine.ts';
import { claimsOf } from '../support/sessions.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('a database session', () => {
  const db = useTestDatabase();
  let hidden: Hidden;
  let ofOtherTenant: Hidden;
  beforeAll(async () => {
    ({ ofL: hidden, ofOtherTenant } = await plantHidden(db));
  });

  const tenant = claimsOf('C')['jwt.claims.tenant_id']!;
  /** Code and text of the error, or null. */
  const failure = (caller: string, statement: string, values: unknown[] = [], claims = {}) =>
    db.sql(caller, statement, values, claims).then(
      () => null,
      ({ code, message }) => `${code} ${message}`,
    );
  /** The same statement on a hidden and on a missing row: the answers must be equal. */
  const alike = async (statement: string, onHidden: unknown[], onMissing: unknown[]) => {
    const outcomes: string[] = [];
    for (const values of [onHidden, onMissing]) {
      await db.asCaller('C', async (client) => {
        const { rows, error } = await attempt(client, statement, values);
        outcomes.push(JSON.stringify(rows ?? error).replaceAll(String(values[0]), '<value>'));
      });
    }
    expect(outcomes[0], statement).toBe(outcomes[1]);
    return outcomes[0]!;
  };

  describe('a database session that claims to be another', () => {
    it('can take no other role with the login of an agent', async () => {
      const login = `l9_hostile_${process.pid}`;
      await db.asSuperuser(
        `create role ${login} login noinherit password 'for-tests-only'; grant l9_agent to ${login} with inherit false, set true`,
      );
      const attempts = [
        'set role l9_admin',
        'set role l9_owner',
        'set role l9_gateway',
        'set role l9_worker',
        'set role l9_platform_admin',
        'set role postgres',
        "select set_config('role', 'l9_admin', true)",
        "select set_config('role', 'l9_owner', false)",
        "do $$ begin execute 'set role l9_admin'; end $$",
        'set local session authorization postgres',
        "select set_config('session_authorization', 'postgres', true)",
      ];
      try {
        const check = async (client: pg.ClientBase, statements: string[]) => {
          for (const statement of statements) {
            await client.query('begin; set local role l9_agent');
            const { error } = await attempt(client, statement);
            expect(error?.code, statement).toBe('42501');
            await client.query('rollback');
          }
          // Without a role of ours the login is bound to no actor and has no identity.
          const claims = Object.entries({ ...claimsOf('L'), role: login }).filter(([name]) => name !== 'role');
          await client.query('begin');
          for (const [name, value] of claims) await client.query('select set_config($1, $2, true)', [name, value]);
          const { rows } = await client
            .query('select identity.current_identity() is null as nobody')
            .catch(() => ({ rows: [{ nobody: true }] }));
          expect(rows).toStrictEqual([{ nobody: true }]);
          await client.query('rollback');
        };
        if (db.superuserUrl) {
          const url = new URL(db.superuserUrl);
          url.username = login;
          url.password = 'for-tests-only';
          const [{ name }] = await db.asSuperuser('select current_database() as name');
          await db.asSuperuser(`grant connect on database ${pg.escapeIdentifier(name)} to ${login}`);
          const client = new pg.Client({ connectionString: url.href });
          await client.connect();
          try {
            await check(client, attempts);
          } finally {
            await client.end();
          }
        } else {
          // The one session of the embedded engine belongs to a superuser, which can always change its session authorization.
          const client = await db.pool.connect();
          try {
            await client.query('set session authorization postgres');
            await client.query(`set session authorization ${login}`);
            await check(
              client,
              attempts.filter((statement) => !statement.includes('authorization')),
            );
          } finally {
            await client.query('rollback; set session authorization l9_gateway');
            client.release();
          }
        }
      } finally {
        if (db.superuserUrl) {
          const [{ name }] = await db.asSuperuser('select current_database() as name');
          await db.asSuperuser(`revoke all on database ${pg.escapeIdentifier(name)} from ${login}`);
        }
        await db.asSuperuser(`drop role ${login}`);
      }
    });

    it('gives no identity as l9_agent for the claims of L or of an unknown tenant', async () => {
      for (const claims of [
        { 'jwt.claims.caller': 'L' },
        { 'jwt.claims.caller': 'l' },
        { 'jwt.claims.caller': "C' or caller = 'L" },
        { 'jwt.claims.tenant_id': MISSING },
        { 'jwt.claims.tenant_id': `{${tenant}` },
        { 'jwt.claims.tenant_id': `${tenant},${OTHER_TENANT}` },
      ]) {
        const [row] = await db.sql(
          'C',
          'select identity.current_identity() is null as nobody, (select count(*)::int from public.packet_store) as n',
          [],
          claims,
        );
        expect(row, JSON.stringify(claims)).toStrictEqual({ nobody: true, n: 0 });
      }
    });

    it('gains no scope or project by malformed claims', async () => {
      for (const scopes of [
        '*',
        'developer,*',
        '["*"]',
        '["l-private"]',
        'l-private',
        '{l-private}',
        '["developer", null]',
        '[["l-private"]]',
        '[{"a": "*"}]',
        '"*"',
        ' [*]',
        '[',
        'null',
      ]) {
        const [row] = await db.sql('C', 'select identity.current_scopes() as scopes', [], {
          'jwt.claims.scopes': scopes,
        });
        expect(
          row.scopes.every((scope: string) => ['developer', 'global'].includes(scope)),
          scopes,
        ).toBeTruthy();
        const rows = await db.sql('C', 'select 1 from public.packet_store where packet_id = $1', [hidden.id], {
          'jwt.claims.scopes': scopes,
        });
        expect(rows, scopes).toStrictEqual([]);
      }
    });
  });

  it('leaves nothing to the next caller of the session, also no prepared statement or cursor', async () => {
    const client = await db.pool.connect();
    const as = async (caller: string, statement: string) => {
      await client.query('begin');
      for (const [name, value] of Object.entries(claimsOf(caller)))
        await client.query('select set_config($1, $2, true)', [name, value]);
      try {
        return (await client.query(statement)).rows;
      } finally {
        await client.query('commit');
      }
    };
    try {
      await as('L', 'prepare hostile_all as select packet_id from public.packet_store');
      // Eight rounds make PostgreSQL switch to a generic plan.
      for (let times = 0; times < 8; times++) {
        const ids = (rows: { packet_id: string }[]) => rows.map(({ packet_id }) => packet_id);
        expect(ids(await as('L', 'execute hostile_all'))).toContain(hidden.id);
        expect(ids(await as('C', 'execute hostile_all'))).not.toContain(hidden.id);
        const found = (rows: { n: number }[]) => rows[0]!.n;
        const search =
          "select coalesce(cardinality(r.hits), 0) as n from public.search_memory('quincunx', mode => 'lexical') r";
        expect(found(await as('L', search))).toBe(1);
        expect(found(await as('C', search))).toBe(0);
      }
      await as('L', 'declare hostile_cursor cursor for select packet_id from public.packet_store');
      await expect(as('C', 'fetch all from hostile_cursor')).rejects.toMatchObject({ code: '34000' });
      await client.query('rollback');
      // Within one transaction a cursor shows the rows of the caller that opened it; the gateway never changes callers within one.
      expect(await as('C', "select name from pg_cursors where name like 'hostile%'")).toStrictEqual([]);
    } finally {
      await client.query('rollback; deallocate hostile_all');
      client.release();
    }
  });

  describe('a session that probes for hidden rows', () => {
    it('can write to no table, and use no foreign key, beside those probed here', async () => {
      const tables = await db.asSuperuser(`
        select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspowner = 'l9_owner'::regrole and n.nspname <> 'graphile_migrate' and c.relkind in ('r', 'p', 'v')
          and (has_any_column_privilege('l9_agent', c.oid, 'insert, update') or has_table_privilege('l9_agent', c.oid, 'delete'))
        order by 1`);
      expect(tables.map(({ relname }) => relname)).toStrictEqual([
        'idempotency_keys',
        'memory_feedback',
        'packet_store',
      ]);
      const keys = await db.asSuperuser(`
        select k.conrelid::regclass || '.' || a.attname as name
        from pg_constraint k cross join lateral unnest(k.conkey) column_number
        join pg_attribute a on a.attrelid = k.conrelid and a.attnum = column_number
        where k.contype = 'f' and k.conrelid in ('public.packet_store'::regclass, 'public.idempotency_keys'::regclass, 'public.memory_feedback'::regclass)
          and (has_column_privilege('l9_agent', k.conrelid, a.attnum, 'insert') or has_column_privilege('l9_agent', k.conrelid, a.attnum, 'update'))
        order by 1`);
      expect(keys.map(({ name }) => name)).toStrictEqual([
        'idempotency_keys.packet_id',
        'idempotency_keys.tenant_id',
        'memory_feedback.packet_id',
        'packet_store.scope',
      ]);
    });

    it('gets the same answer from a foreign key for a private, a foreign and a missing id', async () => {
      for (const id of [hidden.id, ofOtherTenant.id]) {
        await db.asCaller('C', async (client) => {
          await client.query(
            `insert into public.idempotency_keys (tenant_id, caller, idempotency_key, request_hash) values ('${tenant}', 'C', 'probe', sha256('')) on conflict do nothing`,
          );
          const update = "update public.idempotency_keys set packet_id = $1 where idempotency_key = 'probe'";
          const [onHidden, onMissing] = [await attempt(client, update, [id]), await attempt(client, update, [MISSING])];
          expect(onHidden).toStrictEqual(onMissing);
          expect(onHidden.error?.code).toBe('42501');
        });
        const insert = `insert into public.idempotency_keys (packet_id, tenant_id, caller, idempotency_key) values ($1, '${tenant}', 'C', 'probe 2')`;
        expect(await alike(insert, [id], [MISSING])).toMatch(/42501/);
        const vote =
          'insert into public.memory_feedback (access_id, packet_id, was_useful) values (uuidv7(), $1, true)';
        expect(await alike(vote, [id], [MISSING])).toMatch(/42501/);
      }
      expect(
        (await failure(
          'C',
          `insert into public.idempotency_keys (tenant_id, caller, idempotency_key) values ('${OTHER_TENANT}', 'C', 'x')`,
        ))!,
      ).toMatch(/^42501/);
    });

    it('never collides with a unique key of another caller', async () => {
      for (const caller of ['L', 'C']) {
        const owner = caller === 'L' ? tenant : OTHER_TENANT;
        for (const conflict of [
          '',
          'on conflict do nothing',
          'on conflict (tenant_id, caller, acting_org_id, acting_user_id, idempotency_key) do nothing',
        ]) {
          const insert = `insert into public.idempotency_keys (tenant_id, caller, idempotency_key) values ('${owner}', '${caller}', $1) ${conflict}`;
          const taken = caller === 'L' ? 'quincunx-key' : 'zeugmatic-key';
          expect(await alike(insert, [taken], ['not taken']), insert).toMatch(/42501/);
        }
      }
    });

    it('saves the text of a hidden memory like any other text', async () => {
      const content = (text: string) => JSON.stringify({ content: text });
      for (const statement of [
        "insert into public.packet_store (envelope, project_id) values ($1, 'l9')",
        `insert into public.packet_store (envelope, project_id) values ($1, '${hidden.projectId}') returning scope`,
        "insert into public.packet_store (envelope, scope) values ($1, 'global') on conflict do nothing returning scope",
        `insert into public.packet_store (envelope, project_id, scope) values ($1, '${hidden.projectId}', 'l-private')`,
        `insert into public.packet_store (envelope, project_id, scope, packet_type) values ($1, '${hidden.projectId}', 'l-private', 'quincunx_kind') on conflict do nothing`,
        `merge into public.packet_store p using (values ($1::jsonb)) v (envelope) on p.content = v.envelope ->> 'content'
         when matched then update set tags = '{}' when not matched then insert (envelope, project_id) values (v.envelope, 'l9') returning merge_action()`,
      ]) {
        for (const text of [hidden.content, ofOtherTenant.content])
          await alike(statement, [content(text)], [content('never written anywhere')]);
      }
      // The same holds if it changes its own memory to that text.
      await db.sql('C', "select public.save_memory('to be changed', project_id => $1, kind => 'quincunx_kind')", [
        hidden.projectId,
      ]);
      await alike(
        "update public.packet_store set envelope = $1 where content = 'to be changed' returning scope",
        [content(hidden.content)],
        [content('never written anywhere')],
      );
      expect(
        await alike(
          "update public.packet_store set scope = 'l-private', envelope = $1 where content = 'to be changed'",
          [content(hidden.content)],
          [content('never written anywhere')],
        ),
      ).toMatch(/L9SCP/);
      await db.sql('C', "delete from public.packet_store where content = 'to be changed'");
    });

    it('gets the same answer for hidden and missing rows from update, delete, merge, lock and truncate', async () => {
      const before = await snapshot(db);
      for (const id of [hidden.id, ofOtherTenant.id]) {
        for (const statement of [
          'select 1 from public.packet_store where packet_id = $1',
          'select 1 from public.packet_store where packet_id = $1 for update',
          'select 1 from public.packet_store where packet_id = $1 for update nowait',
          'select 1 from public.packet_store where packet_id = $1 for key share skip locked',
          "update public.packet_store set tags = '{}' where packet_id = $1 returning 1",
          "update public.packet_store set scope = 'developer' where packet_id = $1 returning 1",
          'delete from public.packet_store where packet_id = $1 returning 1',
          'merge into public.packet_store p using (values ($1::uuid)) v (id) on p.packet_id = v.id when matched then delete when not matched then do nothing',
          'select public.get_memory($1)',
          'select public.update_memory($1, content => $$mine$$)',
          'select public.delete_memory($1)',
          "select public.save_memory('a child', project_id => 'l9', parent_ids => array[$1::uuid])",
          'insert into public.packet_store (envelope, project_id, parent_ids) values (\'{"content": "a child"}\', \'l9\', array[$1::uuid])',
          'select 1 from public.memory_embeddings where packet_id = $1',
        ]) {
          await alike(statement, [id], [MISSING]);
        }
      }
      for (const [statement, values] of [
        ["select public.save_memory('in a thread', project_id => 'l9', thread_id => $1)", [hidden.threadId]],
        ["select (public.search_memory('quincunx', thread_id => $1, mode => 'lexical')).hits", [hidden.threadId]],
        ['select total from public.get_memory_stats($1)', [hidden.projectId]],
        ["select public.save_memory('with a key', project_id => 'l9', idempotency_key => $1)", ['quincunx-key']],
      ] as [string, string[]][]) {
        const outcome = async (given: string[]) => {
          let answer = '';
          await db.asCaller('C', async (client) => {
            const { rows, error } = await attempt(client, statement, given);
            answer = JSON.stringify(rows ?? error)
              .replaceAll(given[0]!, '<given>')
              .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/g, '<id>')
              .replace(/\d{4}-\d\d-\d\d \d\d:[\d:.+-]+/g, '<time>');
          });
          return answer;
        };
        expect(await outcome(values), statement).toBe(await outcome(['no-such-thing']));
      }
      expect((await failure('C', 'truncate public.packet_store'))!).toMatch(/^42501/);
      expect(await snapshot(db)).toBe(before);
    });

    it('does not release expired memories of a project that it does not have', async () => {
      const ttl = "clock_timestamp() + interval '30 milliseconds'";
      const [{ hash }] = await db.sql(
        'L',
        `select (memory).content_hash as hash from public.save_memory('soon over', project_id => 'elsewhere', ttl => ${ttl})`,
      );
      await new Promise((resolve) => setTimeout(resolve, 60));
      const claims = { 'jwt.claims.projects': '["l9"]' };
      for (const save of [
        "select public.save_memory('soon over', project_id => 'elsewhere')",
        `insert into public.packet_store (envelope, project_id) values ('{"content": "soon over"}', 'elsewhere')`,
      ]) {
        await expect(db.sql('C', save, [], claims)).rejects.toMatchObject({ code: 'L9SCP' });
      }
      expect(await db.asSuperuser('select 1 from public.packet_store where content_hash = $1', [hash])).toHaveLength(1);
    });

    it('cannot save values that are nested too deeply for other readers', async () => {
      const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
      for (const field of ['metadata', 'envelope', 'routing', 'provenance']) {
        await expect(
          db.sql('C', `select public.save_memory('deep', project_id => 'l9', ${field} => $1)`, [deep(70)]),
          field,
        ).rejects.toMatchObject({ code: 'L9LIM' });
        await db.sql('C', `select public.save_memory('deep ${field}', project_id => 'l9', ${field} => $1)`, [deep(60)]);
      }
    });
  });

  describe('a session beside another', () => {
    itOnServer('never waits for an uncommitted row that it could not see', async () => {
      await db.asCaller('L', async (slow) => {
        await slow.query(
          "select public.save_memory('not yet committed', scope => 'l-private', project_id => 'l9', idempotency_key => 'slow')",
        );
        await slow.query('select 1 from public.packet_store where packet_id = $1 for update', [hidden.id]);
        await db.asCaller('C', async (client) => {
          await client.query("set local lock_timeout = '2s'");
          await client.query(
            "select public.save_memory('not yet committed', project_id => 'l9', idempotency_key => 'slow')",
          );
          const { error } = await attempt(client, 'select public.update_memory($1, tags => $${x}$$)', [hidden.id]);
          expect(error?.code).toBe('L9OWN');
        });
      });
    });
  });
});
