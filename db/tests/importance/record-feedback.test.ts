// One vote for each access, by the caller that made it, on a memory that it may still read.
import { randomUUID } from 'node:crypto';
import { errorOf } from '../support/errors.ts';
import { addOperator, addTenant } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { rollUp, save, search, vote } from './support.ts';

describe('record_feedback', () => {
  const db = useTestDatabase();

  const found = async (caller: string, content: string, query: string, args = {}) => {
    const id = await save(db, caller, content, args);
    const hit = (await search(db, caller, query)).find(({ packet_id }) => packet_id === id);
    return { id, access: hit!.access_id };
  };
  const voteOn = async (access: string) => {
    const [row] = await db.sql(
      'L',
      'select was_useful, feedback_reason from public.memory_access_log where access_id = $1',
      [access],
    );
    return [row.was_useful, row.feedback_reason];
  };

  it('stores one vote for an access, and replaces it by a later one', async () => {
    const { id, access } = await found('C', 'the walnut tree', 'walnut');
    const [first] = await vote(db, 'C', access, true, '  ');
    expect([first.packet_id, first.was_useful, first.reason]).toStrictEqual([id, true, null]);
    await vote(db, 'C', access, false, 'it was a hazel');
    expect(await voteOn(access)).toStrictEqual([false, 'it was a hazel']);
    await vote(db, 'C', access, true);
    expect(await voteOn(access)).toStrictEqual([true, null]);
    expect(await db.asSuperuser('select from public.memory_feedback where packet_id = $1', [id])).toHaveLength(1);
  });

  it('audits each vote, without its reason', async () => {
    const { id, access } = await found('C', 'the chestnut tree', 'chestnut', { scope: 'developer' });
    await vote(db, 'C', access, true, 'roasted');
    await vote(db, 'C', access, false, 'toasted');
    const rows = await db.sql(
      'L',
      "select operation, caller, tool_name, scope, project_id, details from public.audit_log where table_name = 'memory_feedback' and row_id = $1 order by audit_id",
      [access],
    );
    expect(
      rows.map((row) => [
        row.operation,
        row.caller,
        row.scope,
        row.project_id,
        row.details.packet_id,
        row.details.was_useful,
      ]),
    ).toStrictEqual([
      ['INSERT', 'C', 'developer', 'l9', id, true],
      ['UPDATE', 'C', 'developer', 'l9', id, false],
    ]);
    expect(JSON.stringify(rows)).not.toContain('oasted');
  });

  it('gives one error for a missing access, one of another caller and one of a hidden memory', async () => {
    const { access: ofL } = await found('L', 'the linden of both', 'linden');
    const { access: secret } = await found('L', 'the linden of L', 'linden', { scope: 'l-private' });
    const moved = await found('C', 'the linden that moves', 'linden moves');
    await vote(db, 'C', moved.access, true, 'still mine');
    await db.sql('L', "select public.update_memory($1, scope => 'l-private')", [moved.id]);
    const gone = await found('C', 'the linden that goes', 'linden goes');
    await db.sql('C', 'select public.delete_memory($1)', [gone.id]);
    const expired = await found('C', 'the linden that expires', 'linden expires', {
      ttl: new Date(Date.now() + 3_600_000).toISOString(),
    });
    await db.asSuperuser(
      `set session_replication_role = replica;
       update public.packet_store set ttl = now() - interval '1 s' where packet_id = '${expired.id}';
       reset session_replication_role`,
    );
    const { access: other } = await found('C', 'the linden of a user', 'linden user');

    const ask = async (access: string, claims = {}) => {
      const { code, message, column } = await errorOf(vote(db, 'C', access, true, 'x', claims));
      return JSON.stringify([code, message, column]).replaceAll(access, '<access>');
    };
    const missing = await ask(randomUUID());
    expect(missing).toMatch(/L9OWN/);
    for (const access of [
      '01900000-0000-7000-8000-0000000000cc',
      ofL,
      secret,
      moved.access,
      gone.access,
      expired.access,
    ]) {
      expect(await ask(access)).toBe(missing);
    }
    const alone = await ask(randomUUID(), { 'jwt.claims.user_id': randomUUID() });
    expect(await ask(other, { 'jwt.claims.user_id': randomUUID() }), 'for a user that it did not act for').toBe(alone);
    expect(await ask(other, { 'jwt.claims.org_id': randomUUID() })).toBe(alone);
    expect(await ask(other, { 'jwt.claims.projects': 'another' })).toBe(alone);
    expect(await ask(other, await addTenant(db, 'feedback-other'))).toBe(alone);
    // None of these votes was stored.
    expect((await voteOn(moved.access))[0]).toStrictEqual(true);
    for (const access of [ofL, secret, other]) expect(await voteOn(access)).toStrictEqual([null, null]);
    // Its own earlier vote on a memory that is hidden now is hidden too.
    expect(await db.sql('C', 'select from public.memory_feedback where packet_id = $1', [moved.id])).toHaveLength(0);
  });

  it('lets an admin vote only on its own accesses, and an operator on none', async () => {
    const { access } = await found('C', 'the larch is bare', 'larch');
    await expect(vote(db, 'L', access, true)).rejects.toMatchObject({ code: 'L9OWN' });
    const operator = await addOperator(db, 'Voter');
    await expect(vote(db, 'Voter', access, true, undefined, operator)).rejects.toMatchObject({ code: '42501' });
    const [own] = await search(db, 'L', 'larch');
    await vote(db, 'L', own!.access_id, true, 'evergreen?');
    // C does not see the feedback of L, but L sees that of C.
    await vote(db, 'C', access, false, 'deciduous');
    const said = 'select agent_id, reason from public.memory_feedback where access_id = any ($1) order by agent_id';
    const both = [access, own!.access_id];
    expect(await db.sql('C', said, [both])).toStrictEqual([{ agent_id: 'C', reason: 'deciduous' }]);
    expect(await db.sql('L', said, [both])).toHaveLength(2);
  });

  it('enforces the same rules on plain SQL', async () => {
    const { access: ofL, id } = await found('L', 'the elm of both', 'elm');
    const { access, id: own } = await found('C', 'the elm of C', 'elm');
    const insert = (values: unknown[]) =>
      db.sql(
        'C',
        'insert into public.memory_feedback (access_id, packet_id, was_useful) values ($1, $2, true)',
        values,
      );
    await expect(insert([ofL, id])).rejects.toMatchObject({ code: '42501' });
    await expect(insert([access, id]), 'about another memory than was accessed').rejects.toMatchObject({
      code: '42501',
    });
    await expect(insert([randomUUID(), own])).rejects.toMatchObject({ code: '42501' });
    await insert([access, own]);
    const [row] = await db.sql('C', 'select agent_id, given_at from public.memory_feedback where access_id = $1', [
      access,
    ]);
    expect(row.agent_id).toBe('C');
    await expect(db.sql('C', "update public.memory_feedback set agent_id = 'L'")).rejects.toMatchObject({
      code: '42501',
    });
    await expect(db.sql('C', 'delete from public.memory_feedback')).rejects.toMatchObject({ code: '42501' });
    const changed = await db.sql(
      'L',
      'update public.memory_feedback set was_useful = false where access_id = $1 returning 1',
      [access],
    );
    expect(changed, 'an admin can’t change the vote of another caller').toHaveLength(0);
  });

  it('refuses invalid input and names the field', async () => {
    const { access } = await found('C', 'the alder by the brook', 'alder');
    const cases: [unknown[], string, string][] = [
      [[null, true, null], 'L9VAL', 'access_id'],
      [[access, null, null], 'L9VAL', 'was_useful'],
      [[access, true, 'é'.repeat(501)], 'L9LIM', 'reason'],
    ];
    for (const [values, code, column] of cases) {
      await expect(db.sql('C', 'select public.record_feedback($1, $2, $3)', values)).rejects.toMatchObject({
        code,
        column,
      });
    }
    await vote(db, 'C', access, true, 'x'.repeat(1000));
  });

  it('counts one voice for each agent, the last that it gave, whatever its user and token', async () => {
    await db.sql('L', "select public.register_actor('D')");
    const id = await save(db, 'D', 'the aspen trembles');
    const signals = async () => {
      await rollUp(db);
      const [row] = await db.asSuperuser('select useful, useless from public.memory_signals where packet_id = $1', [
        id,
      ]);
      return row as { useful: number; useless: number };
    };
    const again = async (caller: string, useful: boolean, times: number, claims = {}) => {
      for (let n = 0; n < times; n++) {
        const [hit] = await search(db, caller, 'aspen', claims);
        await vote(db, caller, hit!.access_id, useful, undefined, claims);
      }
    };
    await again('C', true, 1);
    expect(await signals()).toStrictEqual({ useful: 1, useless: 0 });
    await again('C', true, 8);
    expect(await signals()).toStrictEqual({ useful: 1, useless: 0 });
    await again('L', false, 1);
    expect(await signals()).toStrictEqual({ useful: 1, useless: 1 });
    await again('L', true, 1);
    expect(await signals()).toStrictEqual({ useful: 2, useless: 0 });
    // Other users, sessions and projects of its tokens do not make it another agent.
    for (const user of ['01900000-0000-7000-8000-0000000000b1', '01900000-0000-7000-8000-0000000000b2']) {
      await again('C', false, 2, { 'jwt.claims.user_id': user, 'jwt.claims.session_id': user });
      expect(await signals()).toStrictEqual({ useful: 1, useless: 1 });
    }
    await again('C', true, 1, { 'jwt.claims.projects': 'l9' });
    expect(await signals()).toStrictEqual({ useful: 2, useless: 0 });
  });

  it('stops counting a vote that was erased', async () => {
    const id = await save(db, 'L', 'the rowan is red');
    const [hit] = await search(db, 'C', 'rowan');
    await vote(db, 'C', hit!.access_id, true);
    await rollUp(db);
    const useful = async () =>
      (await db.asSuperuser('select useful from public.memory_signals where packet_id = $1', [id]))[0].useful;
    expect(await useful()).toBe(1);
    await db.asSuperuser('delete from public.memory_feedback where packet_id = $1', [id]);
    await rollUp(db);
    expect(await useful()).toBe(0);
  });
});
