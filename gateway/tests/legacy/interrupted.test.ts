// A move that ends half way goes on where it was.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { counts, createOldHome, GIVE_TO_OWNER, type OldHome } from './old-database.ts';

describe('a move that is killed', () => {
  const ROWS = 2_500;
  let old: OldHome;
  before(async () => {
    old = await createOldHome();
    await old.superuser(async (query) => {
      await query(`create schema memory;
        create table memory.shortterm (memory_id bigint primary key, body text not null, scope text, expires_at timestamptz);
        insert into memory.shortterm select i, 'row ' || i || ' of a long table ' || repeat(md5(i::text) || ' ', 12), 'shared'
        from generate_series(1, ${ROWS}) i;`);
      await query(GIVE_TO_OWNER);
    });
  });
  after(() => old.drop());

  const state = () =>
    old.query(`select
      (select count(*)::int from packet_store) as packets,
      (select count(*)::int from legacy.legacy_ids) as known,
      (select count(distinct new_id)::int from legacy.legacy_ids) as ids,
      (select count(*)::int from audit_log where operation = 'INSERT') as audited`);

  it('goes on where it was, and moves each row once', async () => {
    assert.equal(await old.migrateAndKill('--apply'), 'SIGKILL');
    const [now] = await state();
    assert.ok(now.packets >= 1_000 && now.packets < ROWS, `it was killed in the middle, at ${now.packets}`);
    const whole = (n: number) => ({ packets: n, known: n, ids: n, audited: n });
    assert.deepEqual(now, whole(now.packets), 'what was moved is whole');

    const ran = await old.migrate('--apply');
    assert.equal(ran.code, 0, ran.err);
    assert.deepEqual(counts(ran), { 'memory.shortterm': { kept: now.packets, moved: ROWS - now.packets } });
    assert.ok(ran.report.rowsPerSecond > 0);
    assert.deepEqual((await state())[0], whole(ROWS));
  });
});
