// The trace of a fact, a relation and an entity that lose their source, whoever removed it.
import { expireMemories, saveMemory } from '../support/memories.ts';
import type { Claims } from '../support/sessions.ts';
import { DEFAULT_TENANT } from '../support/sessions.ts';
import { addOperator } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { worldsOf } from '../world-model/support.ts';

describe('a row that loses its source', () => {
  const db = useTestDatabase();
  let operator: Claims;
  beforeAll(async () => {
    operator = await addOperator(db, 'P');
    await db.asSuperuser(
      `insert into public.actors (tenant_id, caller, creator, source, agent, role, readable_scopes, writable_scopes, can_clean_up)
       values ($1, 'Scribe', 'Scribe', 'tests', 'scribe', 'l9_agent', '{developer,global}', '{developer,global}', true)`,
      [DEFAULT_TENANT],
    );
  });
  const { apply } = worldsOf(db);

  const remove: Record<string, (id: string) => Promise<unknown>> = {
    'its author deletes it': (id) => db.sql('C', 'select public.delete_memory($1)', [id]),
    'an operator erases it': (id) => db.sql('P', "select public.erase_memory($1, 'a test')", [id], operator),
    'an admin erases it': (id) => db.sql('L', "select public.erase_memory($1, 'a test')", [id]),
    'the job cleans it up': async (id) => {
      await expireMemories(db, [id]);
      await db.asWorker('select * from memories.delete_expired_batch()');
    },
    'an agent that may not read the others cleans it up': async (id) => {
      await expireMemories(db, [id]);
      await db.sql('Scribe', 'select public.delete_expired_memories()');
    },
    'the owner deletes it in psql': async (id) => {
      await expireMemories(db, [id]);
      await db.asOwner('delete from public.packet_store where ttl <= now()');
    },
  };

  it.each(Object.keys(remove))('has the references of the next source when %s', async (how) => {
    const name = how.replaceAll(' ', '-');
    const save = (trace_id: string) =>
      saveMemory(db, 'C', { content: `${name} of ${trace_id}`, project_id: 'l9', trace_id });
    const [gone, left] = [await save('trace gone'), await save('trace left')];
    for (const id of [gone, left]) {
      await db.sql('C', "select public.assert_fact($2, 'runs_on', to_jsonb('postgres'::text), source_packet => $1)", [
        id,
        name,
      ]);
      await db.sql('C', "select public.relate($2, 'uses', 'postgres', source_packet => $1)", [id, name]);
    }
    for (const packet of [left, gone])
      await apply('C', 'l9', [{ entity_id: name, entity_type: 'service', attributes: { at: 'home' } }], {
        packet,
      });
    const traces = async () =>
      (
        await db.asSuperuser(
          `
        select array[
          (select trace_id from public.knowledge_facts where subject = $1),
          (select trace_id from public.entity_relationships where source_entity = $1),
          (select trace_id from public.world_model_entities where entity_id = $1)] as traces`,
          [name],
        )
      )[0].traces;
    expect(await traces()).toStrictEqual(['trace gone', 'trace gone', 'trace gone']);
    await remove[how]!(gone);
    expect(await db.asSuperuser('select 1 from public.packet_store where packet_id = $1', [gone])).toStrictEqual([]);
    expect(await traces()).toStrictEqual(['trace left', 'trace left', 'trace left']);
  });
});
