// Each built-in kind is a view with its fields as typed columns, and the older system's tables are views in schema cortex.
// Both show what their reader may read, and nobody can write to them.
import { kindExamples } from '../support/kinds.ts';
import { addTenant } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';

const viewOf: Record<string, string> = {
  document: 'documents',
  section: 'sections',
  runbook: 'runbooks',
  change: 'changes',
  issue: 'issues',
  decision: 'decisions',
  todo: 'todos',
  release_note: 'release_notes',
  ddl: 'ddl_migrations',
  pr_context: 'pr_contexts',
};
const olderOf: Record<string, string> = {
  document: 'document',
  section: 'section',
  runbook: 'runbook',
  change: 'change_log',
  issue: 'issue_log',
  decision: 'adr_decision',
  todo: 'todo_log',
  release_note: 'release_note',
  ddl: 'ddl_history',
  pr_context: 'pr_context',
};
const COMMON = ['scope', 'project_id', 'branch', 'tags', 'ttl', 'archived_at', 'created_at', 'updated_at'];
const typeOf: Record<string, string> = {
  text: 'text',
  number: 'numeric',
  boolean: 'boolean',
  date: 'date',
  timestamp: 'timestamp with time zone',
  uuid: 'uuid',
  'text[]': 'text[]',
  object: 'jsonb',
  'object[]': 'jsonb',
};
const columnOf = (kind: string, field: string) => (COMMON.includes(field) ? `${kind}_${field}` : field);

describe('the view of a built-in kind', () => {
  const db = useTestDatabase({ rollsBack: true });

  const insert = async (caller: string, kind: string, fields: object, scope = 'developer') =>
    (
      await db.sql(
        caller,
        `insert into public.packet_store (packet_type, envelope, project_id, scope) values ($1, $2, 'l9', $3) returning packet_id`,
        [kind, fields, scope],
      )
    )[0].packet_id as string;
  /** As if the row had come from before the rules. */
  const replace = (id: string, envelope: object) =>
    db.inSuperuserSession(async (client) => {
      await client.query('set local session_replication_role = replica');
      await client.query('update public.packet_store set envelope = $2 where packet_id = $1', [id, envelope]);
      await client.query('set local session_replication_role = origin');
    });
  const all = [
    ...Object.values(viewOf).map((view) => `public.${view}`),
    ...Object.values(olderOf).map((view) => `cortex.${view}`),
  ];
  /** Columns that the older tables have beside those of their fields. */
  const older = ['tags', 'content_hash', 'ts', 'expires_at', 'created_at', 'updated_at'];

  it('has the fields of its kind as columns, with the types and the meanings of its rows', async () => {
    const kinds = await db.asSuperuser(
      `select k.kind, jsonb_agg(f order by f.place) as fields from public.memory_kinds k
       join public.memory_kind_fields f using (kind_id) where k.tenant_id is null group by k.kind`,
    );
    expect(kinds.map(({ kind }) => kind).sort()).toStrictEqual(Object.keys(viewOf).sort());
    const columnsOf = async (view: string) =>
      (
        await db.asSuperuser(
          `select attname as name, format_type(atttypid, atttypmod) as type, col_description(attrelid, attnum) as meaning
           from pg_attribute where attrelid = $1::regclass and attnum > 0 order by attnum`,
          [view],
        )
      ).map(({ name, type, meaning }) => [name, type, meaning]);
    for (const { kind, fields } of kinds) {
      const typed = (isOlder: boolean) =>
        fields.map(({ field, type, meaning }: Record<string, string>) => [
          isOlder ? field : columnOf(kind, field!),
          typeOf[type!],
          meaning,
        ]);
      const columns = await columnsOf(`public.${viewOf[kind]}`);
      expect(columns.slice(1, -COMMON.length)).toStrictEqual(typed(false));
      expect(columns.map(([name]) => name).filter((_, i) => i < 1 || i > fields.length)).toStrictEqual([
        'packet_id',
        ...COMMON,
      ]);
      const columnsOfOlder = await columnsOf(`cortex.${olderOf[kind]}`);
      const isNamedByType = ([name]: unknown[]) => name === 'steps_jsonb';
      expect(columnsOfOlder.slice(1, -older.length).filter((column) => !isNamedByType(column))).toStrictEqual(
        typed(true),
      );
      expect(columnsOfOlder.filter(isNamedByType)).toHaveLength(kind === 'runbook' ? 1 : 0);
      expect(columnsOfOlder.map(([name]) => name)).toStrictEqual(expect.arrayContaining(['id', ...older]));
      expect(columnsOfOlder.filter(([, , meaning]) => !meaning)).toStrictEqual([]);
    }
    const cortex = await db.asSuperuser(`select relname from pg_class where relnamespace = 'cortex'::regnamespace`);
    expect(cortex.map(({ relname }) => relname).sort()).toStrictEqual(
      [...Object.values(olderOf), 'event_audit', 'reflection_store', 'task_reflections', 'memory_summaries'].sort(),
    );
  });

  it.each(kindExamples)('shows the values of each $kind', async ({ kind, fields, locks }) => {
    const whole = { ...fields, ...locks?.by, ...locks?.allowed };
    const id = await insert('C', kind, whole);
    const same = (value: unknown) =>
      typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value) ? new Date(value).toISOString() : value;
    for (const [view, key, isOlder] of [
      [`public.${viewOf[kind]}`, 'packet_id', false],
      [`cortex.${olderOf[kind]}`, 'id', true],
    ] as const) {
      const [row] = await db.sql('C', `select to_jsonb(v) as row from ${view} v where ${key} = $1`, [id]);
      const shown = Object.fromEntries(
        Object.keys(whole).map((field) => [field, same(row.row[isOlder ? field : columnOf(kind, field)])]),
      );
      expect(shown, view).toStrictEqual(Object.fromEntries(Object.entries(whole).map(([f, v]) => [f, same(v)])));
    }
  });

  it('shows an agent nothing of a scope, a project or a tenant that it may not read', async () => {
    const theirs = await addTenant(db, 'acme');
    for (const { kind, fields } of kindExamples) await insert('L', kind, fields, 'l-private');
    for (const view of all) {
      const seen = async (caller: string, claims = {}) =>
        (await db.sql(caller, `select count(*)::int as n from ${view}`, [], claims))[0].n;
      expect(await seen('C'), view).toBe(0);
      expect(await seen('L', theirs), view).toBe(0);
      expect(await seen('L', { 'jwt.claims.scopes': '["developer"]' }), view).toBe(0);
      expect(await seen('L', { 'jwt.claims.projects': '["other"]' }), view).toBe(0);
      expect(await seen('L'), view).toBe(1);
    }
  });

  it('cannot be written', async () => {
    for (const { kind, fields } of kindExamples) await insert('C', kind, fields);
    for (const view of all) {
      const column = view.startsWith('cortex') ? 'id' : 'scope';
      for (const caller of ['C', 'L'])
        for (const statement of [
          `insert into ${view} (${column}) values (null)`,
          `update ${view} set ${column} = ${column}`,
          `delete from ${view}`,
          `truncate ${view}`,
        ])
          await expect(db.sql(caller, statement), `${caller}: ${statement}`).rejects.toMatchObject({
            code: expect.stringMatching(/42501|42809/),
          });
    }
  });

  it('shows the tags, the hash of the text, the time and the expiry of each memory under their older names', async () => {
    const expires = '2099-01-01T00:00:00.000Z';
    for (const { kind, fields } of kindExamples) {
      const [{ packet_id }] = await db.sql(
        'C',
        `insert into public.packet_store (packet_type, envelope, project_id, scope, tags, ttl, "timestamp")
         values ($1, $2, 'l9', 'developer', '{a tag}', $3, '2026-01-02T03:04:05Z') returning packet_id`,
        [kind, fields, expires],
      );
      const [row] = await db.sql('C', `select * from cortex.${olderOf[kind]} where id = $1`, [packet_id]);
      const [{ hash }] = await db.sql(
        'C',
        `select encode(content_hash, 'hex') as hash from public.packet_store where packet_id = $1`,
        [packet_id],
      );
      expect([row.tags, row.content_hash, row.ts.toISOString()], kind).toStrictEqual([
        ['a tag'],
        hash,
        '2026-01-02T03:04:05.000Z',
      ]);
      expect(row.expires_at.toISOString(), kind).toBe(expires);
      if (kind === 'runbook') expect(row.steps_jsonb).toStrictEqual(row.steps);
    }
  });

  it('shows administrators the audit log as event_audit, of their tenant and scopes, and agents nothing of it', async () => {
    const theirs = await addTenant(db, 'acme');
    const open = await insert('C', 'todo', { text: 'Oil the lamp', status: 'open' });
    const hidden = await insert('L', 'todo', { text: 'Sell the lamp', status: 'open' }, 'l-private');
    await db.sql('C', `update public.packet_store set tags = '{lamp}' where packet_id = $1`, [open]);
    const trail = (claims = {}) =>
      db.sql(
        'L',
        `select entity_type, entity_id, operation, actor, change, created_at <= now() as is_dated from cortex.event_audit
         where entity_id = any ($1) order by id`,
        [[open, hidden]],
        claims,
      );
    const rows = await trail();
    expect(rows.map(({ entity_id, operation, actor }) => [entity_id, operation, actor])).toStrictEqual([
      [open, 'INSERT', 'C'],
      [hidden, 'INSERT', 'L'],
      [open, 'UPDATE', 'C'],
    ]);
    expect(rows[0]).toMatchObject({
      entity_type: 'packet_store',
      change: { kind: 'todo', status: 'success', scope: 'developer', project_id: 'l9' },
    });
    expect(JSON.stringify(rows)).not.toMatch(/lamp"|Oil/);
    expect((await trail({ 'jwt.claims.scopes': '["developer"]' })).map(({ entity_id }) => entity_id)).toStrictEqual([
      open,
      open,
    ]);
    expect(await trail(theirs)).toStrictEqual([]);
    for (const [caller, statement] of [
      ['C', 'select from cortex.event_audit'],
      ['L', "insert into cortex.event_audit (operation) values ('READ')"],
      ['L', 'delete from cortex.event_audit'],
    ] as const)
      await expect(db.sql(caller, statement), statement).rejects.toMatchObject({ code: '42501' });
  });

  it('shows null for a value that is not of its type, in a memory from before the rules', async () => {
    const odd = [
      'a text',
      'tomorrow',
      '',
      7,
      true,
      {},
      [],
      [1, { a: [2] }],
      'infinity',
      '2026-02-30',
      '2026-13-01T00:00:00Z',
    ];
    for (const { kind, fields } of kindExamples) {
      const id = await insert('C', kind, fields);
      const names = (
        await db.asSuperuser(
          'select array_agg(f.field) as names from public.memory_kind_fields f join public.memory_kinds k using (kind_id) where k.kind = $1',
          [kind],
        )
      )[0].names as string[];
      for (const value of odd) {
        await replace(id, { content: 'old', ...Object.fromEntries(names.map((name) => [name, value])) });
        for (const view of [`public.${viewOf[kind]}`, `cortex.${olderOf[kind]}`])
          expect(await db.sql('C', `select * from ${view}`), `${view}, ${JSON.stringify(value)}`).toHaveLength(1);
      }
    }
    const memory = await insert('C', 'todo', { text: 'x', status: 'open' });
    await replace(memory, { content: 'old', due_date: 'soon', closed_at: 5 });
    expect(
      await db.sql('C', 'select text, due_date, closed_at from public.todos where packet_id = $1', [memory]),
    ).toStrictEqual([{ text: null, due_date: null, closed_at: null }]);
  });

  it('shows what is archived, with the time since when, and nothing that has expired', async () => {
    const id = await insert('C', 'todo', { text: 'x', status: 'done', closed_at: '2026-01-01' });
    const [row] = await db.sql(
      'C',
      'select archived_at < now() as is_archived from public.todos where packet_id = $1',
      [id],
    );
    expect(row).toStrictEqual({ is_archived: true });
    await db.asSuperuser(
      `set local session_replication_role = replica;
       update public.packet_store set ttl = now() - interval '1 minute' where packet_id = '${id}';
       set local session_replication_role = origin`,
    );
    expect(await db.sql('C', 'select from public.todos where packet_id = $1', [id])).toHaveLength(0);
  });
});
