// Two transactions that wait for each other: PostgreSQL aborts one, and the gateway retries it without an error.

import pg from 'pg';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { describeOnServer } from '../../../db/tests/support/on-engine.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { createTestHome } from '../support/home.ts';
import { standIn } from '../support/stand-in.ts';

describeOnServer('a deadlock', () => {
  let gateway: TestGateway;
  let other: pg.Client;
  beforeAll(async () => {
    const home = await createTestHome();
    other = new pg.Client({ connectionString: home.superuserUrl! });
    await other.connect();
    // The one whose patience ends first gives way: the gateway's, long enough to stand in its way before.
    await other.query(
      "do $$ begin execute format('alter database %I set deadlock_timeout = ''3s''', current_database()); end $$",
    );
    await other.query("set deadlock_timeout = '10min'");
    gateway = await startTestGateway({ home, embedder: standIn });
  });
  afterAll(async () => {
    await other.end();
    await gateway.close();
  });

  const deadlocks = async () => {
    await gateway.asSuperuser('select pg_stat_force_next_flush()');
    const text = 'select deadlocks::int as n from pg_stat_database where datname = current_database()';
    return (await gateway.asSuperuser(text))[0].n as number;
  };

  const change: Record<string, (id: string) => Promise<string>> = {
    'over MCP': async (packet_id) => {
      const { text, result } = await gateway.tool('C', 'update_memory', { packet_id, thread_id: 'another' });
      return result?.status ?? text;
    },
    'over GraphQL': async (id) => {
      const { data, errors } = await gateway.graphql(
        'C',
        'mutation ($id: UUID!) { updateMemory(input: { packetId: $id, threadId: "another" }) { status } }',
        { id },
      );
      return data?.updateMemory?.status ?? JSON.stringify(errors);
    },
  };
  for (const [api, changed] of Object.entries(change)) {
    it(`is retried when it hits a change ${api}`, async () => {
      const { result } = await gateway.tool('C', 'save_memory', { content: `changed ${api}`, project_id: 'l9' });
      const id = result.memory.packet_id;
      await gateway.embedded();
      const before_ = await deadlocks();
      await other.query('begin');
      await other.query('insert into embeddings.stale_contexts values ($1)', [id]);
      const changing = changed(id);
      const waits = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
      await eventually(async () => (await gateway.asSuperuser(waits)).length > 0);
      await other.query('select from public.packet_store where packet_id = $1 for update', [id]);
      await other.query('rollback');
      expect(await changing).toBe('updated');
      await eventually(async () => (await deadlocks()) > before_);
    });
  }
});
