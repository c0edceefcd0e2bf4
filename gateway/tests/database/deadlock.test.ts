// Two transactions that wait for each other: PostgreSQL ends one of them, and no caller hears of it.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { createTestHome, engine } from '../support/databases.ts';
import { eventually } from '../support/eventually.ts';
import { type House, openHouse } from '../support/house.ts';
import { standIn } from '../support/stand-in.ts';

describe('a deadlock', { skip: engine === 'embedded' && 'one session' }, () => {
  let house: House;
  let other: pg.Client;
  before(async () => {
    const home = await createTestHome();
    other = new pg.Client({ connectionString: home.superuserUrl! });
    await other.connect();
    // The one whose patience ends first gives way: the gateway's, long enough to stand in its way before.
    await other.query(
      "do $$ begin execute format('alter database %I set deadlock_timeout = ''3s''', current_database()); end $$",
    );
    await other.query("set deadlock_timeout = '10min'");
    house = await openHouse({ home, embedder: standIn });
  });
  after(async () => {
    await other.end();
    await house.close();
  });

  const deadlocks = async () => {
    await house.asSuperuser('select pg_stat_force_next_flush()');
    const text = 'select deadlocks::int as n from pg_stat_database where datname = current_database()';
    return (await house.asSuperuser(text))[0].n as number;
  };

  const change: Record<string, (id: string) => Promise<string>> = {
    'over MCP': async (packet_id) => {
      const { text, result } = await house.tool('C', 'update_memory', { packet_id, thread_id: 'another' });
      return result?.status ?? text;
    },
    'over GraphQL': async (id) => {
      const { data, errors } = await house.graphql(
        'C',
        'mutation ($id: UUID!) { updateMemory(input: { packetId: $id, threadId: "another" }) { status } }',
        { id },
      );
      return data?.updateMemory?.status ?? JSON.stringify(errors);
    },
  };
  for (const [door, changed] of Object.entries(change)) {
    it(`of a change ${door} is tried again`, async () => {
      const { result } = await house.tool('C', 'save_memory', { content: `changed ${door}`, project_id: 'l9' });
      const id = result.memory.packet_id;
      await house.embedded();
      const before_ = await deadlocks();
      await other.query('begin');
      await other.query('insert into embeddings.stale_contexts values ($1)', [id]);
      const changing = changed(id);
      const waits = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
      await eventually(async () => (await house.asSuperuser(waits)).length > 0);
      await other.query('select from public.packet_store where packet_id = $1 for update', [id]);
      await other.query('rollback');
      assert.equal(await changing, 'updated');
      await eventually(async () => (await deadlocks()) > before_);
    });
  }
});
