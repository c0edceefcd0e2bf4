// The background job that writes summaries.
import { claimsOf } from '../support/sessions.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { summariesOf, user } from './support.ts';

describe('store_summary', () => {
  const db = useTestDatabase({ rollsBack: true });
  const { note } = summariesOf(db);

  it('lets the job write for the audience of the sources and replace the existing summary', async () => {
    const project_id = 'job';
    for (let i = 0; i < 5; i++) {
      await db.sql(
        'C',
        `select public.save_memory($1, project_id => 'job', correlation_id => 'J')`,
        [`of the user ${i}`],
        user,
      );
      await note('L', 'in private', { project_id, scope: 'l-private', correlation_id: 'J' });
    }
    const due = () =>
      db.asWorker(
        `select * from summaries.find_due(null, $1, null, null, null, null, 40, 100)
         where project_id = 'job' and scope_type = 'task'`,
        [claimsOf('C')['jwt.claims.tenant_id']],
      );
    const rows = await due();
    expect(rows.map(({ scope, user_id }) => [scope, user_id]).sort()).toStrictEqual([
      ['developer', user['jwt.claims.user_id']],
      ['l-private', null],
    ]);
    for (const row of rows) {
      const store = () =>
        db.asWorker("select (s).* from summaries.store_summary($1, $2, $3, $4, model => 'm') s", [
          row.scope_type,
          row.scope_value,
          'What the job says.',
          row.source_packet_ids,
        ]);
      await store();
      const saved = (await store())[0]!;
      expect([saved.scope, saved.user_id, saved.creator, saved.packet_count]).toStrictEqual([
        row.scope,
        row.user_id,
        'job',
        5,
      ]);
    }
    expect(await due()).toStrictEqual([]);
    expect(await db.sql('C', "select scope from public.memory_summaries where project_id = 'job'")).toStrictEqual([]);
    const ofUser = await db.sql(
      'C',
      "select s.scope, p.metadata from public.memory_summaries s join public.packet_store p on p.packet_id = s.source_packet where s.project_id = 'job'",
      [],
      user,
    );
    expect(ofUser).toStrictEqual([
      { scope: 'developer', metadata: { creator: 'job', source: 'l9-memory', agent: 'job', model: 'm' } },
    ]);
    await expect(
      db.asWorker('select summaries.store_summary($1, $2, $3, $4)', [
        'task',
        'J',
        'mixed',
        rows.flatMap(({ source_packet_ids }) => source_packet_ids),
      ]),
    ).rejects.toMatchObject({ code: 'L9VAL' });
  });
});
