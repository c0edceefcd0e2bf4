// Summaries when their sources move or disappear.
import { grepDatabase } from '../support/dump.ts';
import { embedPending, serveModel, wordModel } from '../support/embeddings.ts';
import { describeOnServer } from '../support/on-engine.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { summariesOf } from './support.ts';

const model = wordModel(['summary', 'source']);

describe('a source of a summary', () => {
  const db = useTestDatabase({ rollsBack: true });
  const { sum, seen, note } = summariesOf(db);

  it('deletes summaries and all copies of their text when a source moves, expires or is deleted', async () => {
    await serveModel(db, model);
    const word = `zq${Math.random().toString(36).slice(2)}`;
    const find = () => db.inSuperuserSession((client) => grepDatabase(client, [word]));
    const acts: [string, (id: string) => Promise<unknown>][] = [
      ['moves', (id) => db.sql('L', "select public.update_memory($1, scope => 'l-private')", [id])],
      ['moves to another project', (id) => db.sql('C', "select public.update_memory($1, project_id => 'other')", [id])],
      ['is to expire', (id) => db.sql('C', "select public.update_memory($1, ttl => now() + interval '1 day')", [id])],
      ['is deleted', (id) => db.sql('C', 'select public.delete_memory($1)', [id])],
      ['is erased', (id) => db.sql('L', "select public.erase_memory($1, 'a test')", [id])],
    ];
    for (const [what, act] of acts) {
      const sources = [await note('C', 'one of two'), await note('C', 'two of two')];
      const summary = await sum('L', sources, {
        summary_text: `It says ${word}.`,
        key_facts: [word],
        scope_value: what,
      });
      // L also wrote a private summary, which the caller that moves the source does not see.
      const secret = await note('L', 'private', { scope: 'l-private' });
      const hidden = await sum('L', [...sources, secret], { summary_text: `In private ${word}.`, scope_value: what });
      const above = await sum('L', [summary.source_packet], {
        summary_text: `Of a summary: ${word}.`,
        scope_value: `${what} above`,
      });
      await embedPending(db, model);
      await act(sources[0]!);
      for (const { summary_id } of [summary, hidden, above]) expect(await seen('L', summary_id), what).toBeUndefined();
      expect(await find(), what).toStrictEqual({});
      expect(await db.sql('L', 'select from public.packet_store where packet_id = $1', [sources[1]])).toHaveLength(1);
    }
  });

  it.each([
    ['deletes', 'C', (id: string) => db.sql('C', 'select public.delete_memory($1)', [id])],
    ['moves', 'C', (id: string) => db.sql('C', "select public.update_memory($1, project_id => 'other')", [id])],
  ])('takes back what a hidden summary states when another caller %s its source', async (what, writer, act) => {
    const source = await note(writer, `open to all, until ${what}`);
    const { source_packet: hidden } = await sum('L', [source, await note('L', 'private', { scope: 'l-private' })]);
    const kept = await note('L', 'also says so', { scope: 'l-private' });
    for (const id of [hidden, kept]) {
      await db.sql('L', "select public.assert_fact('hidden api', 'uses', '\"redis\"', source_packet => $1)", [id]);
      await db.sql('L', "select public.relate('hidden api', 'depends_on', 'hidden redis', source_packet => $1)", [id]);
      await db.sql('L', 'select public.apply_world_update($1, source_packet => $2)', [
        {
          insight_type: 'observation',
          content: 'seen',
          entities: [{ entity_id: 'hidden api', attributes: { [id]: true } }],
        },
        id,
      ]);
    }
    await db.sql('L', "select public.assert_fact('hidden api', 'runs_on', '\"metal\"', source_packet => $1)", [hidden]);
    await db.sql('L', "select public.relate('hidden api', 'runs_on', 'hidden metal', source_packet => $1)", [hidden]);
    await act(source);
    const [left] = await db.sql(
      'L',
      `select array(select source_packet from public.knowledge_facts where subject = 'hidden api') as facts,
         array(select source_packet from public.entity_relationships where source_entity = 'hidden api') as relations,
         (select attributes from public.world_model_entities where entity_id = 'hidden api') as attributes`,
    );
    expect(left).toStrictEqual({ facts: [kept], relations: [kept], attributes: { [kept]: true } });
    expect(await db.asSuperuser('select from derived.memories_being_deleted')).toStrictEqual([]);
  });

  it('lets the writer move a summary only to readers of all its sources', async () => {
    const secret = await note('L', 'secret', { scope: 'l-private' });
    const soon = new Date(Date.now() + 3_600_000);
    const brief = await note('L', 'soon gone', { scope: 'l-private', ttl: soon });
    const summary = await sum('L', [secret, brief]);
    expect(summary.ttl.getTime()).toBe(soon.getTime());
    const move = (change: string) => db.sql('L', `select public.update_memory($1, ${change})`, [summary.source_packet]);
    await expect(move("scope => 'developer'")).rejects.toMatchObject({ code: 'L9VAL' });
    await expect(move("ttl => 'infinity'")).rejects.toMatchObject({ code: 'L9VAL', column: 'scope' });
    await expect(move("project_id => 'other'")).rejects.toMatchObject({ code: 'L9VAL' });
    const open = await sum('L', [await note('L', 'open')]);
    await db.sql('L', "select public.update_memory($1, scope => 'l-private')", [open.source_packet]);
    expect((await seen('L', open.summary_id)).scope).toBe('l-private');
    expect(await seen('C', open.summary_id)).toBeUndefined();
  });
});

describeOnServer('a source that several connections use', () => {
  const db = useTestDatabase();
  const { sum, seen, note } = summariesOf(db);

  it('shows nothing of a source that moves at the same moment', async () => {
    for (let round = 0; round < 5; round++) {
      const source = await note('L', 'to be hidden');
      const other = await note('L', 'stays');
      const [, saved] = await Promise.all([
        db.sql('L', "select public.update_memory($1, scope => 'l-private')", [source]),
        sum('C', [source, other], { summary_text: 'of what is being hidden' }).catch((error) => error),
      ]);
      if (!(saved instanceof Error)) expect(await seen('C', saved.summary_id)).toBeUndefined();
      else expect((saved as Error & { code: string }).code).toBe('L9OWN');
    }
    // Two callers that summarise one subject at the same moment leave one summary.
    const source = await note('C', 'of two writers');
    await Promise.all(
      Array.from({ length: 6 }, (_, i) => sum('C', [source], { scope_value: 'race', summary_text: `text ${i}` })),
    );
    expect(await db.sql('C', "select from public.memory_summaries where scope_value = 'race'")).toHaveLength(1);
  });
});
