// Two reviewers, or a reviewer and the writer, at one memory at the same moment, and batches as large as they may be.
import { eventually } from '../support/eventually.ts';
import { saveMemory } from '../support/memories.ts';
import { describeOnServer } from '../support/on-engine.ts';
import type { Rows } from '../support/sessions.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { setRule, stateOf } from './support.ts';

let serial = 0;

describeOnServer('a decision about a memory that another session changes', () => {
  const db = useTestDatabase();
  const held = () => saveMemory(db, 'C', { content: `held ${++serial}`, scope: 'global', project_id: null });
  beforeAll(async () => {
    await setRule(db, { needs_review: true, caller: 'C', scope: 'global' });
  });

  const APPROVE = 'select status from public.approve_memory(array[$1::uuid])';
  const EDIT = "select status from public.approve_memory(array[$1::uuid], text => 'as the second edits it')";
  const REJECT = "select status from public.reject_memory(array[$1::uuid], 'not so')";
  const CHANGE = "select public.update_memory($1, content => 'what nobody has read')";

  /** Runs the second statement while the first one's transaction is open, and returns its rows or its error. */
  async function meanwhile(id: string, caller: string, first: string, second: string): Promise<Rows | Error> {
    let answer: Promise<Rows | Error> | undefined;
    await db.asCaller(caller, async (client) => {
      await client.query(first, [id]);
      answer = db.sql('L', second, [id]).catch((error: Error) => error);
      await eventually(async () => {
        const [{ waiting }] = await db.asSuperuser(
          `select count(*)::integer as waiting from pg_stat_activity
           where wait_event_type = 'Lock' and datname = current_database()`,
        );
        return waiting > 0;
      });
    });
    return answer!;
  }

  it.each([
    ['an approval', 'a rejection', APPROVE, REJECT, 'approved'],
    ['a rejection', 'an approval', REJECT, APPROVE, 'rejected'],
    ['an approval', 'another approval', APPROVE, APPROVE, 'approved'],
    ['an approval', 'an approval with an edit', APPROVE, EDIT, 'approved'],
  ])('lets %s win over %s that came later', async (_first, _second, first, second, left) => {
    const id = await held();
    expect(await meanwhile(id, 'L', first, second)).toMatchObject({
      code: 'L9VER',
      message: expect.stringContaining(`memory ${id} has changed since you read it`),
    });
    expect(await stateOf(db, id)).toBe(left);
  });

  it.each([
    ['approves', APPROVE],
    ['edits', EDIT],
    ['rejects', REJECT],
  ])('decides about no text that the writer changed meanwhile: it %s', async (_what, decision) => {
    const id = await held();
    expect(await meanwhile(id, 'C', CHANGE, decision)).toMatchObject({ code: 'L9VER' });
    expect(await stateOf(db, id)).toBe('pending');
    await db.sql('C', 'select public.delete_memory($1)', [id]);
  });

  it('refuses all of a batch where one memory is deleted meanwhile', async () => {
    const [kept, gone] = [await held(), await held()];
    const answer = await meanwhile(
      gone,
      'C',
      'select public.delete_memory($1)',
      `select status from public.approve_memory(array['${kept}'::uuid, $1])`,
    );
    expect(answer).toMatchObject({ code: 'L9VER', message: expect.stringContaining('packet_ids: item 2 of 2') });
    expect(await stateOf(db, kept)).toBe('pending');
  });
});

describe('a batch of 500 decisions', () => {
  const db = useTestDatabase();

  it('is made as a whole or not at all, with the item named that is wrong', async () => {
    await setRule(db, { needs_review: true, caller: 'C', scope: 'global' });
    const items = Array.from({ length: 499 }, (_, n) => ({ scope: 'global', data: { content: `one of many ${n}` } }));
    const stored: Rows = [];
    for (let from = 0; from < items.length; from += 100)
      stored.push(
        ...(await db.sql('C', 'select packet_id from public.memory_store($1)', [
          JSON.stringify(items.slice(from, from + 100)),
        ])),
      );
    const ids = stored.map(({ packet_id }) => packet_id);
    const missing = '01900000-0000-7000-8000-000000000000';
    const states = () =>
      db.asSuperuser(
        'select review_state, count(*)::integer from public.packet_store where packet_id = any ($1) group by 1',
        [ids],
      );
    await expect(
      db.sql('L', 'select status from public.approve_memory($1)', [[...ids, missing]]),
    ).rejects.toMatchObject({ code: 'L9OWN', message: expect.stringContaining('packet_ids: item 500 of 500: ') });
    expect(await states()).toStrictEqual([{ review_state: 'pending', count: 499 }]);
    expect(await db.asSuperuser("select from public.audit_log where operation = 'APPROVE'")).toStrictEqual([]);
    await db.sql('L', 'select status from public.approve_memory($1)', [ids]);
    expect(await states()).toStrictEqual([{ review_state: 'approved', count: 499 }]);
  });
});
