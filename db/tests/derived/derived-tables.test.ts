// The list of tables whose rows follow a memory, and that they do.
import { saveMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('the list of tables that follow memories', () => {
  const db = useTestDatabase();

  it('has all that are derived from memories, and two more', async () => {
    const listed = await db.asSuperuser('select table_name from derived.derived_tables order by table_name');
    const derived = await db.asSuperuser(
      `select t.tgrelid::regclass::text as name from pg_trigger t where t.tgname = '_310_take_references_again'`,
    );
    expect(derived.length).toBeGreaterThan(10);
    expect(listed.map(({ table_name }) => table_name)).toStrictEqual(
      [...derived.map(({ name }) => name.replace('public.', '')), 'field_values', 'memory_embeddings'].sort(),
    );
  });

  it('names columns that the tables have', async () => {
    const wrong = await db.asSuperuser(
      `select t.table_name, c.name
       from derived.derived_tables t cross join lateral unnest(array[t.source_column, t.trace_column]) as c (name)
       where c.name is not null and not exists (
         select from pg_attribute a
         where a.attrelid = format('public.%I', t.table_name)::regclass and a.attname = c.name and not a.attisdropped)`,
    );
    expect(wrong).toStrictEqual([]);
  });

  it('makes rows follow the readers and the references of their memory', async () => {
    const id = await saveMemory(db, 'C', {
      content: 'Deploys run at night.',
      project_id: 'l9',
      kind: 'event',
      envelope: { event_type: 'deploy.finished', severity: 'low' },
    });
    await db.sql('C', "select public.assert_fact('deploys', 'run_at', to_jsonb('night'::text), source_packet => $1)", [
      id,
    ]);
    await db.sql('C', "select public.relate('deploys', 'use', 'postgres', source_packet => $1)", [id]);
    await db.sql(
      'C',
      `update public.packet_store set project_id = 'other', correlation_id = 'ticket 7', session_id = 's7', trace_id = 't7'
       where packet_id = $1`,
      [id],
    );
    for (const [table, column] of [
      ['agent_memory_events', 'packet_id'],
      ['fact_evidence', 'packet_id'],
      ['knowledge_facts', 'source_packet'],
      ['relationship_evidence', 'packet_id'],
      ['entity_relationships', 'source_packet'],
    ]) {
      const rows = await db.asSuperuser(
        `select project_id, correlation_id, session_id, trace_id from public.${table} where ${column} = $1`,
        [id],
      );
      expect(rows, table).toStrictEqual([
        { project_id: 'other', correlation_id: 'ticket 7', session_id: 's7', trace_id: 't7' },
      ]);
    }
  });
});
