// One vote for an access, of whoever made it, about what it may still read.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { type House, openHouse } from '../../../gateway/tests/support/house.ts';
import { addOperator, addTenant } from '../../../gateway/tests/support/second-tenant.ts';
import { standIn } from '../../../gateway/tests/support/stand-in.ts';
import { rollUp, save, search, vote } from './support.ts';

describe('record_feedback', () => {
  let house: House;
  before(async () => {
    house = await openHouse({ embedder: standIn });
  });
  after(() => house.close());

  const mutation = `mutation ($a: UUID!, $u: Boolean!, $r: String) {
    recordFeedback(input: { accessId: $a, wasUseful: $u, reason: $r }) {
      feedback { accessId packetId wasUseful reason memory { content } }
    }
  }`;
  const found = async (caller: string, content: string, query: string, args = {}) => {
    const id = await save(house, caller, content, args);
    const hit = (await search(house, caller, query)).find(({ packet_id }) => packet_id === id);
    return { id, access: hit!.access_id };
  };
  const seen = async (access: string) => {
    const [row] = await house.sql(
      'L',
      'select was_useful, feedback_reason from public.memory_access_log where access_id = $1',
      [access],
    );
    return [row.was_useful, row.feedback_reason];
  };

  it('takes a vote through SQL, GraphQL and MCP, and the last word counts', async () => {
    const { id, access } = await found('C', 'the walnut tree', 'walnut');
    const [said] = await vote(house, 'C', access, true, '  ');
    assert.deepEqual([said.packet_id, said.was_useful, said.reason], [id, true, null]);
    const { data, errors } = await house.graphql('C', mutation, { a: access, u: false, r: 'it was a hazel' });
    assert.equal(errors, undefined);
    assert.deepEqual(data.recordFeedback.feedback, {
      accessId: access,
      packetId: id,
      wasUseful: false,
      reason: 'it was a hazel',
      memory: { content: 'the walnut tree' },
    });
    assert.deepEqual(await seen(access), [false, 'it was a hazel']);
    const { result, text } = await house.tool('C', 'record_feedback', { access_id: access, was_useful: true });
    assert.deepEqual([result.packet_id, result.was_useful, result.reason], [id, true, null]);
    assert.match(text, /was useful/);
    assert.deepEqual(await seen(access), [true, null]);
    assert.equal((await house.asSuperuser('select from public.memory_feedback where packet_id = $1', [id])).length, 1);
  });

  it('is on the record, without its reason', async () => {
    const { id, access } = await found('C', 'the chestnut tree', 'chestnut', { scope: 'developer' });
    await vote(house, 'C', access, true, 'roasted');
    await vote(house, 'C', access, false, 'toasted');
    const rows = await house.sql(
      'L',
      "select operation, caller, tool_name, scope, project_id, details from public.audit_log where table_name = 'memory_feedback' and row_id = $1 order by audit_id",
      [access],
    );
    assert.deepEqual(
      rows.map((row) => [
        row.operation,
        row.caller,
        row.scope,
        row.project_id,
        row.details.packet_id,
        row.details.was_useful,
      ]),
      [
        ['INSERT', 'C', 'developer', 'l9', id, true],
        ['UPDATE', 'C', 'developer', 'l9', id, false],
      ],
    );
    assert.ok(!JSON.stringify(rows).includes('oasted'));
  });

  it('answers alike for an access that is not there, another’s, and of a memory that can’t be read any more', async () => {
    const { access: ofL } = await found('L', 'the linden of both', 'linden');
    const { access: secret } = await found('L', 'the linden of L', 'linden', { scope: 'l-private' });
    const moved = await found('C', 'the linden that moves', 'linden moves');
    await vote(house, 'C', moved.access, true, 'still mine');
    await house.sql('L', "select public.update_memory($1, scope => 'l-private')", [moved.id]);
    const gone = await found('C', 'the linden that goes', 'linden goes');
    await house.sql('C', 'select public.delete_memory($1)', [gone.id]);
    const expired = await found('C', 'the linden that expires', 'linden expires', {
      ttl: new Date(Date.now() + 3_600_000).toISOString(),
    });
    await house.asSuperuser(
      `set session_replication_role = replica;
       update public.packet_store set ttl = now() - interval '1 s' where packet_id = '${expired.id}';
       reset session_replication_role`,
    );
    const { access: other } = await found('C', 'the linden of a user', 'linden user');

    const ask = async (access: string, claims = {}) => {
      const answers: unknown[] = [];
      answers.push(
        await vote(house, 'C', access, true, 'x', claims).catch(({ code, message, column }) => [code, message, column]),
      );
      if (Object.keys(claims).length === 0) {
        const { data, errors } = await house.graphql('C', mutation, { a: access, u: true });
        answers.push(data, errors);
        const { isError, text } = await house.tool('C', 'record_feedback', { access_id: access, was_useful: false });
        answers.push(isError, text);
      }
      return JSON.stringify(answers).replaceAll(access, '<access>');
    };
    const missing = await ask(randomUUID());
    assert.match(missing, /L9OWN/);
    for (const access of [
      '01900000-0000-7000-8000-0000000000cc',
      ofL,
      secret,
      moved.access,
      gone.access,
      expired.access,
    ]) {
      assert.equal(await ask(access), missing);
    }
    const alone = await ask(randomUUID(), { 'jwt.claims.user_id': randomUUID() });
    assert.equal(await ask(other, { 'jwt.claims.user_id': randomUUID() }), alone, 'for a user that it did not act for');
    assert.equal(await ask(other, { 'jwt.claims.org_id': randomUUID() }), alone);
    assert.equal(await ask(other, { 'jwt.claims.projects': 'another' }), alone);
    assert.equal(await ask(other, await addTenant(house, 'feedback-other')), alone);
    // Nothing came of any of it.
    assert.deepEqual((await seen(moved.access))[0], true);
    for (const access of [ofL, secret, other]) assert.deepEqual(await seen(access), [null, null]);
    // What it said before of what is out of its reach now, it does not see either.
    assert.equal(
      (await house.sql('C', 'select from public.memory_feedback where packet_id = $1', [moved.id])).length,
      0,
    );
  });

  it('lets an admin vote on its own accesses only, and an operator on none', async () => {
    const { access } = await found('C', 'the larch is bare', 'larch');
    await assert.rejects(vote(house, 'L', access, true), { code: 'L9OWN' });
    const operator = await addOperator(house, 'Voter');
    await assert.rejects(vote(house, 'Voter', access, true, undefined, operator), { code: '42501' });
    const [own] = await search(house, 'L', 'larch');
    await vote(house, 'L', own!.access_id, true, 'evergreen?');
    // C does not see what L said, L sees what C said.
    await vote(house, 'C', access, false, 'deciduous');
    const said = 'select agent_id, reason from public.memory_feedback where access_id = any ($1) order by agent_id';
    const both = [access, own!.access_id];
    assert.deepEqual(await house.sql('C', said, [both]), [{ agent_id: 'C', reason: 'deciduous' }]);
    assert.equal((await house.sql('L', said, [both])).length, 2);
  });

  it('is held to the same rules in plain SQL', async () => {
    const { access: ofL, id } = await found('L', 'the elm of both', 'elm');
    const { access, id: own } = await found('C', 'the elm of C', 'elm');
    const insert = (values: unknown[]) =>
      house.sql(
        'C',
        'insert into public.memory_feedback (access_id, packet_id, was_useful) values ($1, $2, true)',
        values,
      );
    await assert.rejects(insert([ofL, id]), { code: '42501' });
    await assert.rejects(insert([access, id]), { code: '42501' }, 'about another memory than was accessed');
    await assert.rejects(insert([randomUUID(), own]), { code: '42501' });
    await insert([access, own]);
    const [row] = await house.sql('C', 'select agent_id, given_at from public.memory_feedback where access_id = $1', [
      access,
    ]);
    assert.equal(row.agent_id, 'C');
    await assert.rejects(house.sql('C', "update public.memory_feedback set agent_id = 'L'"), { code: '42501' });
    await assert.rejects(house.sql('C', 'delete from public.memory_feedback'), { code: '42501' });
    const changed = await house.sql(
      'L',
      'update public.memory_feedback set was_useful = false where access_id = $1 returning 1',
      [access],
    );
    assert.equal(changed.length, 0, 'an admin changes nobody else’s vote');
  });

  it('refuses what is malformed, naming the field', async () => {
    const { access } = await found('C', 'the alder by the brook', 'alder');
    const cases: [unknown[], string, string][] = [
      [[null, true, null], 'L9VAL', 'access_id'],
      [[access, null, null], 'L9VAL', 'was_useful'],
      [[access, true, 'é'.repeat(501)], 'L9LIM', 'reason'],
    ];
    for (const [values, code, column] of cases) {
      await assert.rejects(house.sql('C', 'select public.record_feedback($1, $2, $3)', values), { code, column });
    }
    await vote(house, 'C', access, true, 'x'.repeat(1000));
    const { text } = await house.tool('C', 'record_feedback', { access_id: 'nonsense', was_useful: true });
    assert.match(text, /INVALID_INPUT \(L9VAL\): access_id/);
  });

  it('can’t be stuffed: each agent has one opinion of a memory, whatever it votes', async () => {
    const { id } = await found('C', 'the aspen trembles', 'aspen');
    const signals = async () => {
      await rollUp(house);
      const [row] = await house.asSuperuser('select useful, useless from public.memory_signals where packet_id = $1', [
        id,
      ]);
      return row as { useful: number; useless: number };
    };
    const again = async (caller: string, useful: boolean, times: number) => {
      for (let n = 0; n < times; n++) {
        const [hit] = await search(house, caller, 'aspen');
        await vote(house, caller, hit!.access_id, useful);
      }
    };
    await again('C', true, 1);
    assert.deepEqual(await signals(), { useful: 0.5, useless: 0 });
    await again('C', true, 8);
    assert.deepEqual(await signals(), { useful: 0.9, useless: 0 });
    await again('L', false, 1);
    assert.deepEqual(await signals(), { useful: 0.9, useless: 0.5 });
    await again('L', true, 2);
    assert.deepEqual(await signals(), { useful: 0.9 + 0.25, useless: 0 });
    // And the mutation over and over on one access stays one vote.
    const [hit] = await search(house, 'C', 'aspen');
    for (let n = 0; n < 5; n++) await vote(house, 'C', hit!.access_id, n % 2 === 1);
    assert.equal((await signals()).useful, 8 / 11 + 0.25);
  });
});
