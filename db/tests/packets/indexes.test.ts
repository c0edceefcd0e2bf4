// Indexes that serve callers although row-level security applies: their conditions are leakproof.
import { useTestDatabase } from '../support/test-database.ts';

describe('a list of the memories of a session', () => {
  const db = useTestDatabase({ rollsBack: true });

  it('uses an index, also for an agent', async () => {
    const plan = await db.asCaller('C', async (client) => {
      // The table is empty, so a scan would be as cheap.
      await client.query('set local enable_seqscan = off; set local enable_bitmapscan = off');
      const { rows } = await client.query(
        `explain select * from public.packet_store
         where session_id = 'a session' and tenant_id = identity.current_tenant_id()`,
      );
      return rows.map((row) => row['QUERY PLAN']).join('\n');
    });
    expect(plan).toMatch(/Index Scan using packet_store_session_idx/);
    expect(plan).toMatch(/Index Cond: .*session_id = 'a session'/);
  });
});
