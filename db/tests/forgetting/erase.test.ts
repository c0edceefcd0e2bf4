import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { engine } from '../../../gateway/tests/support/databases.ts';
import { type House, openHouse } from '../../../gateway/tests/support/house.ts';
import { asSuperuser } from '../../../gateway/tests/support/logins.ts';
import { addOperator, addTenant } from '../../../gateway/tests/support/second-tenant.ts';

const missing = '01900000-0000-7000-8000-000000000000';

describe('erasure', () => {
  let house: House;
  let acme: Record<string, string>;
  let operator: Record<string, string>;
  before(async () => {
    house = await openHouse();
    acme = await addTenant(house, 'acme');
    operator = await addOperator(house, 'Ops');
  });
  after(() => house.close());

  let serial = 0;
  const save = async (caller: string, args: Record<string, unknown> = {}, claims = {}): Promise<string> => {
    const given = { content: `to be forgotten ${serial++}`, project_id: 'l9', ...args };
    const names = Object.keys(given);
    const [row] = await house.sql(
      caller,
      `select (memory).packet_id as id from public.save_memory(${names.map((name, i) => `${name} => $${i + 1}`)})`,
      Object.values(given),
      claims,
    );
    return row.id;
  };
  const eraseMemory = async (caller: string, id: string, claims: Record<string, string> = {}, reason = 'a test') =>
    (await house.sql(caller, 'select * from public.erase_memory($1, $2)', [id, reason], claims))[0];
  const eraseSubject = async (caller: string, user: string, claims = {}, tenant: string | null = null) =>
    (await house.sql(caller, 'select * from public.erase_subject($1, $2, $3)', [user, 'a test', tenant], claims))[0];
  const isThere = (id: string) =>
    asSuperuser(
      house,
      async (client) =>
        (await client.query('select 1 from public.packet_store where packet_id = $1', [id])).rowCount === 1,
    );
  const tombstones = (caller: string, ids: string[], claims = {}) =>
    house.sql(
      caller,
      'select * from public.memory_tombstones where packet_id = any ($1) order by packet_id',
      [ids],
      claims,
    );

  describe('of a memory', () => {
    it('is for L, through GraphQL and SQL, and for no agent', async () => {
      const ids = [await save('C'), await save('C')];
      const mutation =
        'mutation ($id: UUID!) { eraseMemory(input: { packetId: $id, reason: "asked for" }) { result { erasureId memories removed } } }';
      const refused = await house.graphql('C', mutation, { id: ids[0] });
      assert.equal(refused.errors?.[0]?.extensions?.code, 'SCOPE_DENIED');
      await assert.rejects(eraseMemory('C', ids[0]!), { code: 'L9SCP' });
      assert.deepEqual(await tombstones('L', ids), []);
      assert.ok(await isThere(ids[0]!));

      const { data, errors } = await house.graphql('L', mutation, { id: ids[0] });
      assert.equal(errors, undefined);
      assert.deepEqual(
        { memories: data.eraseMemory.result.memories, versions: data.eraseMemory.result.removed.versions },
        { memories: 1, versions: 0 },
      );
      assert.equal((await eraseMemory('L', ids[1]!)).memories, 1);
      for (const id of ids) assert.equal(await isThere(id), false);
    });

    it('leaves a tombstone that says nothing of what it said', async () => {
      const id = await save('C', { content: 'Secret words of the tombstone', tags: ['secret'], kind: 'decision' });
      const { erasure_id } = await eraseMemory('L', id, {}, 'asked for by the customer');
      const [tombstone] = await tombstones('L', [id]);
      assert.ok(tombstone.erased_at instanceof Date);
      assert.deepEqual(
        { ...tombstone, erased_at: 0 },
        {
          packet_id: id,
          erasure_id,
          tenant_id: '00000000-0000-7000-8000-000000000001',
          org_id: null,
          user_id: null,
          project_id: 'l9',
          scope: 'developer',
          packet_type: 'decision',
          creator: 'Cursor-IDE',
          reason: 'asked for by the customer',
          erased_by: 'L',
          erased_at: 0,
        },
      );
    });

    it('leaves on the record who erased what, and none of its contents', async () => {
      const id = await save('L', { content: 'Secret words on the record', scope: 'l-private' });
      const { erasure_id } = await eraseMemory('L', id);
      const rows = await house.sql('L', 'select * from public.audit_log where row_id = $1 order by audit_id', [id]);
      assert.deepEqual(
        rows.map(({ operation, status, caller, scope }) => [operation, status, caller, scope]),
        ['INSERT', 'DELETE', 'ERASE'].map((operation) => [operation, 'success', 'L', 'l-private']),
      );
      assert.equal(rows[2].details.erasure_id, erasure_id);
      assert.ok(!/secret words/i.test(JSON.stringify(rows)));
    });

    it('shows its tombstone to admins of the tenant within their scopes and projects, and to nobody else', async () => {
      const ids = [await save('L', { scope: 'l-private' }), await save('L', { project_id: 'other' })];
      for (const id of ids) await eraseMemory('L', id);
      const seen = async (caller: string, claims: Record<string, string>) =>
        (await tombstones(caller, ids, claims)).map(({ packet_id }) => packet_id);
      assert.deepEqual(await seen('L', {}), [...ids].sort());
      assert.deepEqual(await seen('L', { 'jwt.claims.scopes': '["developer"]' }), [ids[1]]);
      assert.deepEqual(await seen('L', { 'jwt.claims.projects': '["l9"]' }), [ids[0]]);
      assert.deepEqual(await seen('L', acme), []);
      await assert.rejects(tombstones('C', ids), { code: '42501' });
      const { data } = await house.graphql('C', '{ memoryTombstones { totalCount } }');
      assert.equal(data?.memoryTombstones?.totalCount ?? null, null);
    });

    it('makes the memory one that is not there, for C as for L', async () => {
      const id = await save('C');
      await eraseMemory('L', id);
      for (const caller of ['C', 'L']) {
        for (const [tool, args] of [
          ['get_memory', {}],
          ['update_memory', { tags: ['x'] }],
          ['delete_memory', {}],
        ] as const) {
          const erased = await house.tool(caller, tool, { ...args, packet_id: id });
          const never = await house.tool(caller, tool, { ...args, packet_id: missing });
          assert.equal(erased.text.replaceAll(id, '<id>'), never.text.replaceAll(missing, '<id>'));
          assert.match(erased.text, /L9OWN/);
        }
      }
      await assert.rejects(eraseMemory('L', id), { code: 'L9OWN' });
    });

    it('lets nobody write a tombstone, or take one away', async () => {
      const id = await save('L');
      await eraseMemory('L', id);
      for (const statement of [
        'delete from public.memory_tombstones',
        "update public.memory_tombstones set reason = 'x'",
        'insert into public.memory_tombstones select * from public.memory_tombstones',
        'truncate public.memory_tombstones',
      ]) {
        for (const caller of ['C', 'L'])
          await assert.rejects(house.sql(caller, statement), { code: '42501' }, statement);
      }
    });

    it('lets the same text be saved again, as a memory of its own', async () => {
      const content = 'Said, forgotten, and said again';
      const id = await save('C', { content, idempotency_key: 'said once' });
      await eraseMemory('L', id);
      const again = await save('C', { content, idempotency_key: 'said once' });
      assert.notEqual(again, id);
      assert.ok(await isThere(again));
    });

    it('takes what has expired but not been cleaned up yet', async () => {
      const id = await save('L', { ttl: new Date(Date.now() + 300).toISOString() });
      await new Promise((resolve) => setTimeout(resolve, 350));
      assert.equal((await eraseMemory('L', id)).memories, 1);
      assert.equal(await isThere(id), false);
    });

    it('stays within tenant, scopes and projects of the token, beyond which nothing is there', async () => {
      const ids = { private: await save('L', { scope: 'l-private' }), acme: await save('L', {}, acme) };
      const attempts: [string, Record<string, string>][] = [
        [ids.private, { 'jwt.claims.scopes': '["developer", "global"]' }],
        [ids.private, { 'jwt.claims.projects': '["other"]' }],
        [ids.private, acme],
        [ids.acme, {}],
      ];
      for (const [id, claims] of attempts) {
        const texts = await Promise.all(
          [id, missing].map((asked) =>
            eraseMemory('L', asked, claims).then(
              () => 'done',
              (error: { code: string; message: string }) => `${error.code} ${error.message.replace(asked, '<id>')}`,
            ),
          ),
        );
        assert.match(texts[0]!, /^L9OWN/);
        assert.equal(texts[0], texts[1]);
        assert.ok(await isThere(id));
      }
    });

    it('wants a reason, in 200 bytes', async () => {
      const id = await save('L');
      for (const [reason, code] of [
        [' ', 'L9VAL'],
        ['é'.repeat(101), 'L9LIM'],
      ] as const) {
        await assert.rejects(eraseMemory('L', id, {}, reason), { code, column: 'reason' });
      }
      await assert.rejects(house.sql('L', 'select public.erase_memory($1, null)', [id]), { code: 'L9VAL' });
      assert.equal((await eraseMemory('L', id, {}, 'é'.repeat(100))).memories, 1);
    });

    it('by an operator reaches every tenant, on the record of that tenant; with a token cut down, its own', async () => {
      const id = await save('L', {}, acme);
      await assert.rejects(eraseMemory('Ops', id, { ...operator, 'jwt.claims.scopes': '["developer"]' }), {
        code: 'L9OWN',
      });
      assert.equal((await eraseMemory('Ops', id, operator)).memories, 1);
      const rows = await house.sql(
        'L',
        "select caller from public.audit_log where row_id = $1 and operation = 'ERASE'",
        [id],
        acme,
      );
      assert.deepEqual(rows, [{ caller: 'Ops' }]);
      assert.equal((await tombstones('L', [id], acme)).length, 1);
      assert.equal((await tombstones('L', [id])).length, 0);
    });
  });

  describe('of what others were derived from', () => {
    const derive = (kind: string, parents: string[], args = {}) => save('L', { kind, parent_ids: parents, ...args });
    const left = async (ids: string[]) => {
      const there = await Promise.all(ids.map(isThere));
      return ids.map((_, i) => there[i]);
    };

    it('takes summaries and facts along that rest on it alone, and on these; what has other parents stays', async () => {
      const [a, b] = [await save('C'), await save('C')];
      const summary = await derive('summary', [a]);
      const fact = await derive('fact', [summary]);
      const both = await derive('summary', [a, b]);
      const ofBoth = await derive('fact', [both, fact]);
      const note = await derive('note', [a]);
      const all = [a, b, summary, fact, both, ofBoth, note];
      const { memories, erasure_id } = await eraseMemory('L', a);
      assert.equal(memories, 3);
      assert.deepEqual(await left(all), [false, true, false, false, true, true, true]);
      assert.ok((await tombstones('L', [a, summary, fact])).every((row) => row.erasure_id === erasure_id));

      assert.equal((await eraseMemory('L', b)).memories, 3);
      assert.deepEqual(await left(all), [false, false, false, false, false, false, true]);
    });

    it('counts a parent that was deleted before as none', async () => {
      const [a, b] = [await save('C'), await save('C')];
      const summary = await derive('summary', [a, b]);
      await house.sql('L', 'select public.delete_memory($1)', [a]);
      assert.ok(await isThere(summary));
      assert.equal((await eraseMemory('L', b)).memories, 2);
      assert.equal(await isThere(summary), false);
    });

    it('is refused where a copy is beyond the reach of the token: all of it goes, or nothing', async () => {
      const id = await save('C');
      const summary = await derive('summary', [id], { scope: 'l-private' });
      await assert.rejects(eraseMemory('L', id, { 'jwt.claims.scopes': '["developer"]' }), { code: 'L9SCP' });
      assert.deepEqual(await left([id, summary]), [true, true]);
      assert.deepEqual(await tombstones('L', [id, summary]), []);
      assert.equal((await eraseMemory('L', id)).memories, 2);
    });
  });

  describe('of a subject', () => {
    const user = '01900000-0000-7000-8000-0000000000bb';
    const asUser = { 'jwt.claims.user_id': user };

    it('takes all that the user owns, by whomever it was written, and nothing of others', async () => {
      const own = [
        await save('C', { thread_id: 'a thread' }, asUser),
        await save('L', { scope: 'l-private', project_id: 'other' }, asUser),
        await save('C', { ttl: new Date(Date.now() + 100).toISOString() }, asUser),
      ];
      await house.sql('C', "select public.update_memory($1, content => 'changed')", [own[0]], asUser);
      const others = [
        await save('C', { thread_id: 'a thread' }),
        await save('C', {}, { 'jwt.claims.user_id': missing }),
        await save('L', {}, { ...acme, ...asUser }),
      ];
      await new Promise((resolve) => setTimeout(resolve, 150));
      const { memories, removed, erasure_id } = await eraseSubject('L', user);
      assert.equal(memories, 3);
      assert.equal(removed.versions, 1);
      for (const id of own) assert.equal(await isThere(id), false);
      for (const id of others) assert.equal(await isThere(id), true);

      const rows = await house.sql(
        'L',
        "select table_name, row_id, details from public.audit_log where operation = 'ERASE' and details ->> 'erasure_id' = $1 order by audit_id",
        [erasure_id],
      );
      assert.deepEqual(rows.map(({ row_id }) => row_id).sort(), [...own, user].sort());
      const subject = rows.find(({ row_id }) => row_id === user);
      assert.equal(subject.table_name, 'users');
      assert.equal(subject.details.removed.memories, 3);
    });

    it('is for a token that covers the whole tenant: any other would leave some behind', async () => {
      const id = await save('C', {}, asUser);
      for (const claims of [{ 'jwt.claims.scopes': '["developer", "global"]' }, { 'jwt.claims.projects': '["l9"]' }]) {
        await assert.rejects(eraseSubject('L', user, claims), { code: 'L9SCP' });
      }
      await assert.rejects(eraseSubject('C', user), { code: 'L9SCP' });
      const { errors } = await house.graphql(
        'C',
        'mutation ($id: UUID!) { eraseSubject(input: { userId: $id, reason: "x" }) { result { memories } } }',
        { id: user },
      );
      assert.equal(errors?.[0]?.extensions?.code, 'SCOPE_DENIED');
      assert.ok(await isThere(id));
    });

    it('happens in one tenant: its own for L, the one they name for operators', async () => {
      const someone = '01900000-0000-7000-8000-0000000000cc';
      const claims = { 'jwt.claims.user_id': someone };
      const ids = [await save('C', {}, claims), await save('C', {}, { ...acme, ...claims })];
      const tenant = acme['jwt.claims.tenant_id']!;
      await assert.rejects(eraseSubject('L', someone, {}, tenant), { code: 'L9SCP' });
      assert.equal((await eraseSubject('Ops', someone, operator, tenant)).memories, 1);
      assert.deepEqual([await isThere(ids[0]!), await isThere(ids[1]!)], [true, false]);
      assert.equal((await eraseSubject('L', someone)).memories, 1);
      assert.equal((await eraseSubject('L', someone)).memories, 0, 'nothing is left, which is no error');
    });
  });

  describe('beside other work', { skip: engine === 'embedded' && 'it has one connection' }, () => {
    it('happens once: of two at a time one finds nothing', async () => {
      const ids = await Promise.all(Array.from({ length: 8 }, () => save('C')));
      const outcomes = await Promise.all(
        [...ids, ...ids].map((id) =>
          eraseMemory('L', id).then(
            () => 'erased',
            (error: { code: string }) => error.code,
          ),
        ),
      );
      assert.deepEqual(outcomes.sort(), [...new Array(8).fill('L9OWN'), ...new Array(8).fill('erased')]);
    });

    it('waits for a change that is under way, and takes what it left', async () => {
      const id = await save('C');
      let erasing: Promise<{ removed: { versions: number } }> | undefined;
      await house.asCaller('C', async (client) => {
        await client.query("select public.update_memory($1, content => 'written meanwhile')", [id]);
        erasing = eraseMemory('L', id);
        await new Promise((resolve) => setTimeout(resolve, 200));
      });
      assert.equal((await erasing!).removed.versions, 1);
      assert.equal(await isThere(id), false);
    });

    it('leaves an embedding that is under way nothing to store', async () => {
      const worker = house.gateway.database.workerPool;
      const id = await save('C');
      const [{ content_hash }] = await house.sql(
        'L',
        'select content_hash from public.packet_store where packet_id = $1',
        [id],
      );
      await eraseMemory('L', id);
      const { rows } = await worker.query(
        "select embeddings.store_embeddings($1, $2, $3, array[$4], '{}', '{}', '{}') as stored",
        [id, content_hash, house.gateway.embedder.model, JSON.stringify(new Array(1536).fill(0.1))],
      );
      assert.equal(rows[0].stored, false);
    });
  });
});
