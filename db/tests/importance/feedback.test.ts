// One vote for an access, of whoever made it, about what it may still read.
import { randomUUID } from 'node:crypto';
import { startTestGateway, type TestGateway } from '../../../gateway/tests/support/gateway.ts';
import { standIn } from '../../../gateway/tests/support/stand-in.ts';
import { addOperator, addTenant } from '../support/tenants.ts';
import { rollUp, save, search, vote } from './support.ts';

describe('record_feedback', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
  });
  afterAll(() => gateway.close());

  const mutation = `mutation ($a: UUID!, $u: Boolean!, $r: String) {
    recordFeedback(input: { accessId: $a, wasUseful: $u, reason: $r }) {
      feedback { accessId packetId wasUseful reason memory { content } }
    }
  }`;
  const found = async (caller: string, content: string, query: string, args = {}) => {
    const id = await save(gateway, caller, content, args);
    const hit = (await search(gateway, caller, query)).find(({ packet_id }) => packet_id === id);
    return { id, access: hit!.access_id };
  };
  const seen = async (access: string) => {
    const [row] = await gateway.sql(
      'L',
      'select was_useful, feedback_reason from public.memory_access_log where access_id = $1',
      [access],
    );
    return [row.was_useful, row.feedback_reason];
  };

  it('takes a vote through SQL, GraphQL and MCP, and the last word counts', async () => {
    const { id, access } = await found('C', 'the walnut tree', 'walnut');
    const [said] = await vote(gateway, 'C', access, true, '  ');
    expect([said.packet_id, said.was_useful, said.reason]).toStrictEqual([id, true, null]);
    const { data, errors } = await gateway.graphql('C', mutation, { a: access, u: false, r: 'it was a hazel' });
    expect(errors).toBeUndefined();
    expect(data.recordFeedback.feedback).toStrictEqual({
      accessId: access,
      packetId: id,
      wasUseful: false,
      reason: 'it was a hazel',
      memory: { content: 'the walnut tree' },
    });
    expect(await seen(access)).toStrictEqual([false, 'it was a hazel']);
    const { result, text } = await gateway.tool('C', 'record_feedback', { access_id: access, was_useful: true });
    expect([result.packet_id, result.was_useful, result.reason]).toStrictEqual([id, true, null]);
    expect(text).toMatch(/was useful/);
    expect(await seen(access)).toStrictEqual([true, null]);
    expect(await gateway.asSuperuser('select from public.memory_feedback where packet_id = $1', [id])).toHaveLength(1);
  });

  it('is on the record, without its reason', async () => {
    const { id, access } = await found('C', 'the chestnut tree', 'chestnut', { scope: 'developer' });
    await vote(gateway, 'C', access, true, 'roasted');
    await vote(gateway, 'C', access, false, 'toasted');
    const rows = await gateway.sql(
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

  it('answers alike for an access that is not there, another’s, and of a memory that can’t be read any more', async () => {
    const { access: ofL } = await found('L', 'the linden of both', 'linden');
    const { access: secret } = await found('L', 'the linden of L', 'linden', { scope: 'l-private' });
    const moved = await found('C', 'the linden that moves', 'linden moves');
    await vote(gateway, 'C', moved.access, true, 'still mine');
    await gateway.sql('L', "select public.update_memory($1, scope => 'l-private')", [moved.id]);
    const gone = await found('C', 'the linden that goes', 'linden goes');
    await gateway.sql('C', 'select public.delete_memory($1)', [gone.id]);
    const expired = await found('C', 'the linden that expires', 'linden expires', {
      ttl: new Date(Date.now() + 3_600_000).toISOString(),
    });
    await gateway.asSuperuser(
      `set session_replication_role = replica;
       update public.packet_store set ttl = now() - interval '1 s' where packet_id = '${expired.id}';
       reset session_replication_role`,
    );
    const { access: other } = await found('C', 'the linden of a user', 'linden user');

    const ask = async (access: string, claims = {}) => {
      const answers: unknown[] = [];
      answers.push(
        await vote(gateway, 'C', access, true, 'x', claims).catch(({ code, message, column }) => [
          code,
          message,
          column,
        ]),
      );
      if (Object.keys(claims).length === 0) {
        const { data, errors } = await gateway.graphql('C', mutation, { a: access, u: true });
        answers.push(data, errors);
        const { isError, text } = await gateway.tool('C', 'record_feedback', { access_id: access, was_useful: false });
        answers.push(isError, text);
      }
      return JSON.stringify(answers).replaceAll(access, '<access>');
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
    expect(await ask(other, await addTenant(gateway, 'feedback-other'))).toBe(alone);
    // Nothing came of any of it.
    expect((await seen(moved.access))[0]).toStrictEqual(true);
    for (const access of [ofL, secret, other]) expect(await seen(access)).toStrictEqual([null, null]);
    // What it said before of what is out of its reach now, it does not see either.
    expect(await gateway.sql('C', 'select from public.memory_feedback where packet_id = $1', [moved.id])).toHaveLength(
      0,
    );
  });

  it('lets an admin vote on its own accesses only, and an operator on none', async () => {
    const { access } = await found('C', 'the larch is bare', 'larch');
    await expect(vote(gateway, 'L', access, true)).rejects.toMatchObject({ code: 'L9OWN' });
    const operator = await addOperator(gateway, 'Voter');
    await expect(vote(gateway, 'Voter', access, true, undefined, operator)).rejects.toMatchObject({ code: '42501' });
    const [own] = await search(gateway, 'L', 'larch');
    await vote(gateway, 'L', own!.access_id, true, 'evergreen?');
    // C does not see what L said, L sees what C said.
    await vote(gateway, 'C', access, false, 'deciduous');
    const said = 'select agent_id, reason from public.memory_feedback where access_id = any ($1) order by agent_id';
    const both = [access, own!.access_id];
    expect(await gateway.sql('C', said, [both])).toStrictEqual([{ agent_id: 'C', reason: 'deciduous' }]);
    expect(await gateway.sql('L', said, [both])).toHaveLength(2);
  });

  it('is held to the same rules in plain SQL', async () => {
    const { access: ofL, id } = await found('L', 'the elm of both', 'elm');
    const { access, id: own } = await found('C', 'the elm of C', 'elm');
    const insert = (values: unknown[]) =>
      gateway.sql(
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
    const [row] = await gateway.sql('C', 'select agent_id, given_at from public.memory_feedback where access_id = $1', [
      access,
    ]);
    expect(row.agent_id).toBe('C');
    await expect(gateway.sql('C', "update public.memory_feedback set agent_id = 'L'")).rejects.toMatchObject({
      code: '42501',
    });
    await expect(gateway.sql('C', 'delete from public.memory_feedback')).rejects.toMatchObject({ code: '42501' });
    const changed = await gateway.sql(
      'L',
      'update public.memory_feedback set was_useful = false where access_id = $1 returning 1',
      [access],
    );
    expect(changed, 'an admin changes nobody else’s vote').toHaveLength(0);
  });

  it('refuses what is malformed, naming the field', async () => {
    const { access } = await found('C', 'the alder by the brook', 'alder');
    const cases: [unknown[], string, string][] = [
      [[null, true, null], 'L9VAL', 'access_id'],
      [[access, null, null], 'L9VAL', 'was_useful'],
      [[access, true, 'é'.repeat(501)], 'L9LIM', 'reason'],
    ];
    for (const [values, code, column] of cases) {
      await expect(gateway.sql('C', 'select public.record_feedback($1, $2, $3)', values)).rejects.toMatchObject({
        code,
        column,
      });
    }
    await vote(gateway, 'C', access, true, 'x'.repeat(1000));
    const { text } = await gateway.tool('C', 'record_feedback', { access_id: 'nonsense', was_useful: true });
    expect(text).toMatch(/INVALID_INPUT \(L9VAL\): access_id/);
  });

  it('can’t be stuffed: each agent has one opinion of a memory, whatever it votes', async () => {
    const { id } = await found('C', 'the aspen trembles', 'aspen');
    const signals = async () => {
      await rollUp(gateway);
      const [row] = await gateway.asSuperuser(
        'select useful, useless from public.memory_signals where packet_id = $1',
        [id],
      );
      return row as { useful: number; useless: number };
    };
    const again = async (caller: string, useful: boolean, times: number) => {
      for (let n = 0; n < times; n++) {
        const [hit] = await search(gateway, caller, 'aspen');
        await vote(gateway, caller, hit!.access_id, useful);
      }
    };
    await again('C', true, 1);
    expect(await signals()).toStrictEqual({ useful: 0.5, useless: 0 });
    await again('C', true, 8);
    expect(await signals()).toStrictEqual({ useful: 0.9, useless: 0 });
    await again('L', false, 1);
    expect(await signals()).toStrictEqual({ useful: 0.9, useless: 0.5 });
    await again('L', true, 2);
    expect(await signals()).toStrictEqual({ useful: 0.9 + 0.25, useless: 0 });
    // And the mutation over and over on one access stays one vote.
    const [hit] = await search(gateway, 'C', 'aspen');
    for (let n = 0; n < 5; n++) await vote(gateway, 'C', hit!.access_id, n % 2 === 1);
    expect((await signals()).useful).toBe(8 / 11 + 0.25);
  });
});
