import { errorOf } from '../support/errors.ts';
import { saveMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('memory_days', () => {
  const db = useTestDatabase();
  let serial = 0;
  const save = (caller: string, timestamp: string, args: object = {}) =>
    saveMemory(db, caller, { content: `said number ${serial++}`, timestamp, ...args });
  const days = (caller: string, args: string) =>
    db.sql(
      caller,
      `select day::text, memories, events, sessions, is_partial from public.memory_days(${args}, project_id => 'days')`,
    );
  const day = (day: string, memories: number, events = 0) => ({
    day,
    memories,
    events,
    sessions: 0,
    is_partial: false,
  });

  beforeAll(async () => {
    await save('C', '2026-03-01T23:30:00Z', { project_id: 'days' });
    await save('C', '2026-03-02T12:00:00Z', { project_id: 'days' });
    await save('C', '2026-03-02T13:00:00Z', { project_id: 'days', kind: 'event', envelope: { event_type: 'deploy' } });
    await save('L', '2026-03-02T14:00:00Z', { project_id: 'days', scope: 'l-private' });
    await save('L', '2026-03-04T14:00:00Z', { project_id: 'days', scope: 'l-private' });
    await save('C', '2026-03-02T12:00:00Z', { project_id: 'another' });
  });

  it('counts what the caller may read by day, the newest day first', async () => {
    expect(await days('C', "'2026-03-01'")).toStrictEqual([day('2026-03-02', 1, 1), day('2026-03-01', 1)]);
    expect(await days('L', "'2026-03-01'")).toStrictEqual([
      day('2026-03-04', 1),
      day('2026-03-02', 2, 1),
      day('2026-03-01', 1),
    ]);
    expect(await days('C', "'2026-03-01', '2026-03-02'")).toStrictEqual([day('2026-03-01', 1)]);
  });

  it('lets a day begin where it begins in the time zone of the call', async () => {
    expect(await days('C', "'2026-03-01', time_zone => 'Europe/Berlin'")).toStrictEqual([day('2026-03-02', 2, 1)]);
  });

  it('leaves out what is out of lists by the rules of its kind', async () => {
    const id = await save('C', '2026-05-01T12:00:00Z', { project_id: 'days' });
    expect(await days('C', "'2026-05-01'")).toStrictEqual([day('2026-05-01', 1)]);
    await db.asSuperuser(
      "set session_replication_role = replica; update public.packet_store set archived_at = now() - interval '1 day' where packet_id = '" +
        `${id}'; set session_replication_role = origin`,
    );
    expect(await days('C', "'2026-05-01'")).toStrictEqual([]);
  });

  it('says that the oldest day is partial where it stops counting', async () => {
    await db.asSuperuser(
      'create or replace function memories.max_counted() returns integer language sql immutable parallel safe return 2',
    );
    expect(await days('C', "'2026-03-01'")).toStrictEqual([
      day('2026-03-02', 1, 1),
      { ...day('2026-03-01', 1), is_partial: true },
    ]);
    expect(await days('C', "'2026-03-02'")).toStrictEqual([day('2026-03-02', 1, 1)]);
    await db.asSuperuser(
      'create or replace function memories.max_counted() returns integer language sql immutable parallel safe return 20000',
    );
  });

  it('refuses a call without a beginning, and an unknown time zone', async () => {
    for (const [args, field] of [
      ['null', 'since'],
      ["'2026-03-01', time_zone => 'Mars/Olympus'", 'time_zone'],
    ] as const)
      expect(await errorOf(db.sql('C', `select public.memory_days(${args})`)), args).toMatchObject({
        code: 'L9VAL',
        message: expect.stringMatching(`^${field}: `),
      });
  });

  it('audits a STATS', async () => {
    await days('C', "'2026-03-01'");
    const [row] = await db.asSuperuser(
      "select operation, project_id, details from public.audit_log where details ->> 'function' = 'memory_days' order by audit_id desc limit 1",
    );
    expect(row).toMatchObject({ operation: 'STATS', project_id: 'days', details: { caller: 'C', days: 2 } });
  });
});
