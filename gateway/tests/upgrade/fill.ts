// Rows in every table, through the functions of the first migration, which never change. What a database of that version holds
// must still be there after an upgrade. Queues that jobs empty are filled directly.
import { createHash, randomBytes } from 'node:crypto';
import { sealAll } from '../../../db/tests/audit/support.ts';
import { rollUp } from '../../../db/tests/importance/support.ts';
import { embedPending, serveModel, wordModel } from '../../../db/tests/support/embeddings.ts';
import { DEFAULT_TENANT, type Sessions } from '../../../db/tests/support/sessions.ts';
import { addOperator } from '../../../db/tests/support/tenants.ts';

/** The bundled model, so that a gateway takes the vectors for its own and makes no others. */
export const MODEL = {
  ...wordModel(['deploy', 'cache', 'lantern', 'ledger']),
  name: 'all-MiniLM-L6-v2-int8-float',
  dimensions: 384,
};

/** Empty at the end of each statement. */
export const ALWAYS_EMPTY = [
  'derived.memories_being_deleted',
  'derived.memories_being_restated',
  'identity.tenant_moves',
  'transfer.imports_under_way',
];

const TABLES = `
  select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspowner = 'l9_owner'::regrole and n.nspname not in ('graphile_migrate', 'partitions') and c.relkind in ('r', 'p') and not c.relispartition
  order by 1`;

/** The rows of each table, as text in the order of their columns' names. */
export async function contentsOf(db: Sessions): Promise<Record<string, string[]>> {
  return db.inSuperuserSession(async (client) => {
    const { rows: tables } = await client.query<{ name: string }>(TABLES);
    const contents: Record<string, string[]> = {};
    for (const { name } of tables) {
      const { rows } = await client.query<{ row: string }>(
        `select to_jsonb(t)::text as row from ${name} as t order by 1`,
      );
      contents[name] = rows.map(({ row }) => row);
    }
    return contents;
  });
}

export async function fillEveryTable(db: Sessions): Promise<void> {
  const one = async (caller: string, query: string, values: unknown[] = []) =>
    Object.values((await db.sql(caller, `select ${query} as value`, values))[0])[0] as string;
  const save = (caller: string, content: string, rest = '') =>
    one(caller, `((public.save_memory($1, project_id => 'l9' ${rest ? `, ${rest}` : ''})).memory).packet_id`, [
      content,
    ]);

  // Settings and lists of the tenant, and who is in it.
  const org = await one('L', "(public.create_org('Acme')).org_id");
  await one('L', "(public.create_user('Ada', org_id => $1)).user_id", [org]);
  for (const call of [
    "register_scope('team', true, 'of a team')",
    "register_actor('D', 'D', 'd', 'd', 'l9_agent', '{developer,global}', '{developer,global}')",
    "create_api_key('a key', 'C')",
    'set_query_text_audit(true)',
    "set_archive_settings('{messages}')",
    "set_extraction_settings(true, '{note}', '{developer}', true)",
    'set_generated_review(extraction => true)',
    'set_find_settings(match_weight => 0.5)',
    'set_search_settings(lexical_weight => 0.5)',
    "set_secret_settings('redact')",
    "register_secret_exception('^nothing-secret$', 'a test')",
    "set_storage_price('postgres', 'EUR', 0.1)",
    'set_world_model_settings(true)',
    "set_review_settings('refuse')",
    "register_predicate('colour', true, 'the colour of a thing')",
    "register_field_index('colour')",
  ])
    await one('L', `public.${call}`);
  await serveModel(db, MODEL);

  // Memories and what follows from them.
  const first = await save(
    'C',
    'The deploy of Monday broke the cache.',
    `tags => '{deploy}', thread_id => 't', idempotency_key => 'k'`,
  );
  const second = await save(
    'C',
    'The cache was cleared on Tuesday.',
    `thread_id => 't', parent_ids => array['${first}'::uuid]`,
  );
  await one('C', "public.update_memory($1, content => 'The cache was cleared on Wednesday.')", [second]);
  await save('L', 'The ledger is kept by L alone.', "scope => 'l-private'");
  await save('C', 'A lantern that is blue', `envelope => '{"colour": "blue"}'`);
  await save('C', 'A deploy began', `kind => 'event', envelope => '{"event_type": "deploy"}'`);
  await save('C', 'The cache comes first', `kind => 'reasoning_trace', envelope => '{"steps": ["look at the cache"]}'`);
  const gone = await save('C', 'A lantern that was broken');
  const others = [await save('C', 'The ledger is balanced'), await save('C', 'The ledger is in balance now')];
  await embedPending(db, MODEL);
  await one('C', "public.assert_fact('cache', 'colour', '\"blue\"', source_packet => $1, into_world => true)", [first]);
  await one('C', "public.assert_fact('lantern', 'colour', '\"red\"', source_packet => $1, into_world => true)", [gone]);
  await one('C', "public.relate('deploy', 'breaks', 'cache', source_packet => $1)", [first]);
  await one('C', "public.add_alias('store', 'cache', source_packet => $1)", [first]);
  await one('L', "public.snapshot_world('before the upgrade', project_id => 'l9')");
  await one('C', "public.reflect('Clear the cache after each deploy', project_id => 'l9')");
  await one(
    'C',
    "public.reflect_on_task('a task', 'a deploy', 'success', lessons => '{Clear the cache first}', project_id => 'l9')",
  );
  await one('L', "public.save_summary('project', 'l9', 'The cache broke and was cleared.', array[$1::uuid])", [first]);
  const access = await one('C', "((public.search_memory('cache', mode => 'lexical')).hits[1]).access_id");
  await one('C', "public.record_feedback($1, true, 'it helped')", [access]);
  await one('L', 'public.merge_memories($1, array[$2::uuid])', others);
  await one('L', "public.set_review_rule(true, caller => 'D')");
  await save('D', 'A memory that waits for its reviewer');
  await one('L', "public.erase_memory($1, 'a test')", [gone]);

  // A session archive, and one that was only prepared.
  const blob = Buffer.concat([Buffer.from([1]), randomBytes(60)]);
  const prepared = (id: string) =>
    one(
      'C',
      "(archive.prepare_session_archive(jsonb_build_object('session_id', $1::text), 'developer', 'l9')).archive_id",
      [id],
    );
  await one('C', "(archive.finish_session_archive($1, $2, $3, '{postgres}', 'k1', $4, $5, $6)).pointer", [
    await prepared('session one'),
    createHash('sha256').update(blob).digest(),
    blob.length,
    randomBytes(60),
    [randomBytes(32)],
    blob,
  ]);
  await prepared('session two');

  // What jobs write: summaries, extractions, signals, seals.
  await db.asWorker("select tasks.start_task('a_job')");
  await db.asWorker('select extraction.reserve_tokens($1, 100)', [DEFAULT_TENANT]);
  const extraction = { facts: [{ subject: 'cache', predicate: 'is', object: 'clear', confidence: 0.6 }] };
  const [{ content_hash: hash }] = await db.asSuperuser(
    'select content_hash from public.packet_store where packet_id = $1',
    [second],
  );
  await db.asWorker("select extraction.store_extraction($1, $2, $3, 'a-model')", [
    second,
    hash,
    JSON.stringify(extraction),
  ]);
  await db.asWorker('select ranking.count_audience($1, null, null, $2, $3, 1000)', [DEFAULT_TENANT, 'l9', 'developer']);
  await rollUp(db);
  await db.asWorker("insert into administration.call_counts (key, points) values ('of a minute', 1)");
  await db.asWorker("insert into administration.program_versions (version) values ('1.0.0') on conflict do nothing");
  // A month that is over and was taken out of the audit log.
  await db.asWorker("select audit.create_month_partitions('public.audit_log', '2020-01-01', 1)");
  await db.sql('operator', "select public.detach_audit_partition('2020-01-01')", [], await addOperator(db, 'operator'));
  await sealAll(db);

  // Queues that a job left unfinished.
  await db.asSuperuser(`
    insert into embeddings.stale_contexts (packet_id) values ('${first}') on conflict do nothing;
    insert into importance.pending_recounts (packet_id) values ('${first}');
    insert into world_model.stale_worlds (audience_id) select audience_id from world_model.worlds on conflict do nothing;
    insert into extraction.summary_leases (summary_key) values ('\\x00');
    insert into world_model.removed_entities (audience_id, entity_key, version) select audience_id, 'gone', 1 from world_model.worlds limit 1;
    insert into archive.pending_deletions (archive_id, connector, content_hash, entered_at) values ('${first}', 'file', '\\x00', now())`);
  await db.asWorker("select embeddings.begin_embedding_change('a-later-model', 8)");
}
