// Secrets in what callers write: refused, redacted or audited, in every table with contents.
import { errorOf } from '../support/errors.ts';
import { saveMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { SECRETS, token } from './support.ts';

// Tables whose texts come from guarded rows alone, by triggers or jobs, or are no contents.
const DERIVED: Readonly<Record<string, string>> = {
  'archive.prepared_sessions': 'filled from a session that was scanned strictly, and a project that was',
  'public.agent_memory_events': 'filled from packet_store by a trigger',
  'public.audit_log': 'append-only; what callers name in it is redacted by the functions that write it',
  'public.audit_query_texts': 'redacted by a trigger of its own',
  'public.field_values': 'values of packet_store.envelope',
  'public.memory_contexts': 'texts of packet_store',
  'public.memory_embeddings': 'texts of packet_store',
  'public.memory_tombstones': 'redacted by a trigger of its own',
  'public.packet_versions': 'earlier rows of packet_store',
  'public.reasoning_traces': 'filled from packet_store by a trigger',
  'public.session_archives': 'filled from prepared_sessions',
  'public.users': 'names of people, which administrators write',
  'public.world_model_entities': 'folded from world_model_updates',
  'transfer.imported_audit_log': 'rows of an audit_log, each with the hash that was sealed',
  'world_model.removed_entities': 'folded from world_model_updates',
};

// Columns that hold the name of something registered, a choice from a list, or what the database computes.
const CHOSEN = [
  ...['scope', 'scopes', 'readable_scopes', 'writable_scopes', 'project_id', 'projects', 'default_project'],
  ...[
    'caller',
    'creator',
    'created_by',
    'registered_by',
    'asserted_by',
    'archived_by',
    'agent',
    'agent_id',
    'source',
    'source_agent',
  ],
  ...[
    'role',
    'login',
    'type',
    'status',
    'state',
    'outcome',
    'priority',
    'reflection_type',
    'packet_type',
    'scope_type',
  ],
  ...['kind', 'kinds', 'field', 'language', 'languages', 'model', 'pattern', 'severity', 'verification', 'on_secret'],
  ...['table_name', 'view_name', 'source_table', 'target_type', 'connector', 'currency', 'half_life_days', 'job_key'],
  ...['hash', 'previous_hash', 'tool_sets', 'archive_fields', 'own_test', 'last_error'],
];

// Other columns of texts. Those of administrators describe the system, and hold no contents.
const OTHER: Readonly<Record<string, string>> = {
  'administration.call_counts.key': 'a name of the database',
  'administration.program_versions.version': 'a version of the program',
  'entities.tables_with_names': 'names of tables and columns',
  'derived.derived_tables': 'names of tables and columns',
  'public.actors.max_priority': 'one of the priorities',
  'public.api_keys.name': 'written by administrators',
  'identity.active_actors.move_state': 'a state of a move',
  'identity.tenant_moves': 'states of moves, and names of cells',
  'public.fact_predicates.predicate': 'written by administrators',
  'public.fact_predicates.description': 'written by administrators',
  'duplicates.telling_words': 'a vocabulary that migrations write',
  'graphile_migrate.current.filename': 'written by migrations',
  'graphile_migrate.current.content': 'written by migrations',
  'graphile_migrate.migrations.filename': 'written by migrations',
  'importance.memory_access_log.access_context': 'the name of a function',
  'public.orgs.name': 'written by administrators',
  'public.review_settings.rejected_again': 'refuse or hold',
  'public.scopes.description': 'written by administrators',
  'public.memory_kinds': 'rules that administrators write',
  'public.memory_kind_fields': 'rules that administrators write',
  'public.secret_exceptions': 'refused by register_secret_exception() if it is a credential',
  'public.secret_patterns': 'refused by register_secret_pattern() if it is a credential',
  'public.tasks': 'numbers, ids and names of jobs',
  'public.tenants.name': 'written by administrators',
  'public.tenants.route': 'a plain name that operators give',
};

/** Names that rows are grouped by: they have no statistics either, and are no contents. */
const NAMES = [
  ...['project_id', 'branch', 'thread_id', 'session_id', 'correlation_id', 'trace_id'],
  ...['speaker', 'packet_type', 'reflection_type'],
];

describe('the guard against secrets', () => {
  const db = useTestDatabase({ rollsBack: true });
  const set = (onSecret: string) => db.sql('L', 'select public.set_secret_settings(on_secret => $1)', [onSecret]);
  const insert = (columns: Record<string, unknown>) => {
    const all: Record<string, unknown> = { envelope: { content: 'a plain note' }, project_id: 'l9', ...columns };
    const names = Object.keys(all);
    return db.sql(
      'C',
      `insert into public.packet_store (${names.join(', ')}) values (${names.map((_, n) => `$${n + 1}`).join(', ')}) returning *`,
      names.map((name) => all[name]),
    );
  };

  it('stands on every table with contents, or the table is listed with the reason', async () => {
    const rows = await db.asOwner(
      `select c.oid::regclass::text as name,
        exists (select from pg_trigger t where t.tgrelid = c.oid and t.tgname = '_370_guard_secrets') as is_guarded
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind in ('r', 'p') and not c.relispartition and c.relowner = 'l9_owner'::regrole
        -- Columns of contents have no statistics.
        and exists (select from pg_attribute a where a.attrelid = c.oid and a.attstattarget = 0 and a.attname <> all ($1)
          and a.atttypid in ('text'::regtype, 'text[]'::regtype, 'jsonb'::regtype))`,
      [NAMES],
    );
    const qualified = (name: string) => (name.includes('.') ? name : `public.${name}`);
    expect(rows.length).toBeGreaterThan(15);
    expect(
      rows
        .filter((row) => !row.is_guarded)
        .map((row) => qualified(row.name))
        .sort(),
    ).toStrictEqual(Object.keys(DERIVED).sort());
  });

  it('stands on every column of texts, or the column is listed with the reason', async () => {
    const rows = await db.asOwner(
      `select n.nspname || '.' || c.relname as table_name, n.nspname || '.' || c.relname || '.' || a.attname as name
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
       join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
         and a.atttypid in ('text'::regtype, 'text[]'::regtype, 'jsonb'::regtype)
       left join pg_trigger t on t.tgrelid = c.oid and t.tgname = '_370_guard_secrets'
       where c.relkind in ('r', 'p') and not c.relispartition and c.relowner = 'l9_owner'::regrole
         and a.attnum <> all (coalesce(t.tgattr::int2[], '{}'))
         -- Columns of contents, whose tables are looked at above, have no statistics; neither have names in packet_store.
         and (a.attstattarget is distinct from 0 or c.oid = 'public.packet_store'::regclass and a.attname = any ($2)) and a.attname <> all ($1)`,
      [CHOSEN, NAMES],
    );
    const unguarded = rows.filter(({ table_name }) => !(table_name in DERIVED));
    const listed = new Set(unguarded.map(({ table_name, name }) => (table_name in OTHER ? table_name : name)));
    expect([...listed].sort()).toStrictEqual(Object.keys(OTHER).sort());
  });

  it.each(Object.keys(SECRETS))('refuses a memory with a secret like %s', async (pattern) => {
    const error = await errorOf(saveMemory(db, 'C', { content: `Noted: ${SECRETS[pattern]}` }));
    expect(error).toMatchObject({ code: 'L9SEC', column: 'content' });
    expect(error.message).toMatch(/^content: has what looks like a secret \(pattern [a-z0-9-]+, at character \d+\)/);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['the content', { envelope: { content: `see ${token}` } }, 'content'],
    ['the envelope', { envelope: { content: 'x', steps: [{ output: token }] } }, 'envelope.steps[0].output'],
    ['a key of the envelope', { envelope: { content: 'x', [token]: 1 } }, 'envelope.*'],
    ['the metadata', { metadata: { notes: { a: { b: { c: { d: token } } } } } }, 'metadata.notes.a.b.c.d'],
    ['the routing', { routing: { to: token } }, 'routing.to'],
    ['the provenance', { provenance: { url: token } }, 'provenance.url'],
    ['the tags', { tags: ['plain', token] }, 'tags[1]'],
    ['the thread', { thread_id: token }, 'thread_id'],
    ['the correlation id', { correlation_id: token }, 'correlation_id'],
    ['the session', { session_id: token }, 'session_id'],
    ['the trace', { trace_id: token }, 'trace_id'],
  ])('refuses a secret in %s of a bare insert, names the place, and quotes nothing', async (_, columns, field) => {
    const error = await errorOf(insert(columns));
    expect(error).toMatchObject({ code: 'L9SEC', column: field.split(/[.[]/)[0] });
    expect(error.message).toContain(`${field}: has`);
    expect(JSON.stringify([error, error.message, error.where, error.stack])).not.toContain(token.slice(0, 12));
  });

  it('refuses a secret in an update, by function and by statement', async () => {
    const id = await saveMemory(db, 'C', { content: 'a plain note' });
    for (const [query, value] of [
      ['select public.update_memory($1, content => $2)', token],
      ['select public.update_memory($1, metadata => $2)', { key: token }],
      ['update public.packet_store set tags = array[$2] where packet_id = $1', token],
    ] as const)
      await expect(db.sql('C', query, [id, value]), query).rejects.toMatchObject({ code: 'L9SEC' });
  });

  it.each([
    ['fact subject', "select public.assert_fact($1, 'uses', '\"x\"', project_id => 'l9')", token],
    ['fact object', "select public.assert_fact('api', 'uses', to_jsonb($1::text), project_id => 'l9')", token],
    ['relation', "select public.relate('api', 'uses', $1, project_id => 'l9')", token],
    ['alias', "select public.add_alias($1, 'api', project_id => 'l9')", token],
    ['reflection', "select public.reflect('a plain lesson', context => $1, project_id => 'l9')", token],
    ['idempotency key', "select public.save_memory('note', project_id => 'l9', idempotency_key => $1)", token],
  ])('refuses a secret in a %s', async (_, query, value) => {
    await expect(db.sql('C', query, [value])).rejects.toMatchObject({ code: 'L9SEC' });
  });

  it('leaves no trace of a refused text', async () => {
    await errorOf(saveMemory(db, 'C', { content: `refused ${token}`, idempotency_key: 'k1' }));
    const rows = await db.asSuperuser(
      `select count(*)::integer as count from public.idempotency_keys where idempotency_key = 'k1'`,
    );
    expect(rows).toStrictEqual([{ count: 0 }]);
  });

  it('redacts where the tenant has that set, and finds the duplicate of what it stored', async () => {
    await set('redact');
    const save = () =>
      db.sql(
        'C',
        "select r.status, (r.memory).content, secrets.redacted_count() as redacted from public.save_memory($1, project_id => 'l9', tags => $2) as r",
        [`Deploy with ${token} and ${SECRETS['stripe-key']}.`, ['deploy', token]],
      );
    const content = 'Deploy with [redacted: github-token] and [redacted: stripe-key].';
    expect(await save()).toStrictEqual([{ status: 'inserted', content, redacted: 3 }]);
    expect(await save()).toMatchObject([{ status: 'skipped_dedupe', content }]);
    const [row] = await db.asSuperuser(
      `select envelope::text || metadata::text || tags::text || words::text || encode(content_hash, 'hex') as whole,
         content_hash = packets.content_hash(content) as is_hash_right
       from public.packet_store where content = $1`,
      [content],
    );
    expect(row.is_hash_right).toBe(true);
    expect(row.whole.toLowerCase()).not.toContain(token.slice(4, 20).toLowerCase());
  });

  it('refuses, also where the tenant redacts, texts by which a row is found', async () => {
    await set('redact');
    for (const query of [
      "select public.assert_fact('api', 'uses', to_jsonb($1::text), project_id => 'l9')",
      "select public.relate('api', 'uses', $1, project_id => 'l9')",
      "select public.save_memory('note', project_id => 'l9', idempotency_key => $1)",
    ])
      await expect(db.sql('C', query, [token]), query).rejects.toMatchObject({ code: 'L9SEC' });
  });

  it('lets a secret through where the tenant has that set, and audits field and pattern', async () => {
    await set('allow');
    await saveMemory(db, 'C', { content: `Deploy with ${token}.` });
    const rows = await db.sql(
      'L',
      "select operation, table_name, caller, details -> 'allowed_secrets' as allowed from public.audit_log where details ? 'allowed_secrets'",
    );
    expect(rows).toStrictEqual([
      {
        operation: 'INSERT',
        table_name: 'packet_store',
        caller: 'C',
        allowed: [{ field: 'content', pattern: 'github-token' }],
      },
    ]);
  });

  it('guards personal data only where the tenant has that set', async () => {
    const content = 'Write to ada.lovelace@analytical-engines.co.uk.';
    await saveMemory(db, 'C', { content });
    await db.sql('L', 'select public.set_secret_settings(guards_personal_data => true)');
    await expect(saveMemory(db, 'C', { content: `${content} Today.` })).rejects.toMatchObject({ code: 'L9SEC' });
  });

  it('changes other fields of a memory that holds a secret from before', async () => {
    await set('allow');
    const id = await saveMemory(db, 'C', { content: `Deploy with ${token}.` });
    await set('refuse');
    await db.sql('C', "select public.update_memory($1, tags => '{kept}')", [id]);
    await expect(
      db.sql('C', 'select public.update_memory($1, content => $2)', [id, `Deploy with ${token} now.`]),
    ).rejects.toMatchObject({ code: 'L9SEC' });
  });

  it('keeps no secret in the texts of searches', async () => {
    await db.sql('L', 'select public.set_query_text_audit(true)');
    await db.sql('C', 'select * from public.search_memory($1)', [`who uses ${token}`]);
    expect(await db.sql('L', 'select query from public.audit_query_texts')).toStrictEqual([
      { query: 'who uses [redacted: github-token]' },
    ]);
  });

  it('keeps the statement of a refused write from the log of the server', async () => {
    const [row] = await db.asOwner(
      "select has_parameter_privilege('l9_owner', 'log_min_error_statement', 'set') as may_set",
    );
    expect(row).toStrictEqual({ may_set: true });
  });
});
