import { startTestGateway, type TestGateway } from '../../../gateway/tests/support/gateway.ts';
import { describeOnServer } from '../support/on-engine.ts';
import { addOperator, addTenant } from '../support/tenants.ts';

const missing = '01900000-0000-7000-8000-000000000000';

describe('erasure', () => {
  let gateway: TestGateway;
  let acme: Record<string, string>;
  let operator: Record<string, string>;
  beforeAll(async () => {
    gateway = await startTestGateway();
    acme = await addTenant(gateway, 'acme');
    operator = await addOperator(gateway, 'Ops');
  });
  afterAll(() => gateway.close());

  let serial = 0;
  const save = async (caller: string, args: Record<string, unknown> = {}, claims = {}): Promise<string> => {
    const given = { content: `to be forgotten ${serial++}`, project_id: 'l9', ...args };
    const names = Object.keys(given);
    const [row] = await gateway.sql(
      caller,
      `select (memory).packet_id as id from public.save_memory(${names.map((name, i) => `${name} => $${i + 1}`)})`,
      Object.values(given),
      claims,
    );
    return row.id;
  };
  const eraseMemory = async (caller: string, id: string, claims: Record<string, string> = {}, reason = 'a test') =>
    (await gateway.sql(caller, 'select * from public.erase_memory($1, $2)', [id, reason], claims))[0];
  const eraseSubject = async (caller: string, user: string, claims = {}, tenant: string | null = null) =>
    (await gateway.sql(caller, 'select * from public.erase_subject($1, $2, $3)', [user, 'a test', tenant], claims))[0];
  const isThere = (id: string) =>
    gateway.inSuperuserSession(
      async (client) =>
        (await client.query('select 1 from public.packet_store where packet_id = $1', [id])).rowCount === 1,
    );
  const tombstones = (caller: string, ids: string[], claims = {}) =>
    gateway.sql(
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
      const refused = await gateway.graphql('C', mutation, { id: ids[0] });
      expect(refused.errors?.[0]?.extensions?.code).toBe('SCOPE_DENIED');
      await expect(eraseMemory('C', ids[0]!)).rejects.toMatchObject({ code: 'L9SCP' });
      expect(await tombstones('L', ids)).toStrictEqual([]);
      expect(await isThere(ids[0]!)).toBe(true);

      const { data, errors } = await gateway.graphql('L', mutation, { id: ids[0] });
      expect(errors).toBeUndefined();
      expect({
        memories: data.eraseMemory.result.memories,
        versions: data.eraseMemory.result.removed.versions,
      }).toStrictEqual({ memories: 1, versions: 0 });
      expect((await eraseMemory('L', ids[1]!)).memories).toBe(1);
      for (const id of ids) expect(await isThere(id)).toBe(false);
    });

    it('leaves a tombstone that says nothing of what it said', async () => {
      const id = await save('C', { content: 'Secret words of the tombstone', tags: ['secret'], kind: 'decision' });
      const { erasure_id } = await eraseMemory('L', id, {}, 'asked for by the customer');
      const [tombstone] = await tombstones('L', [id]);
      expect(tombstone.erased_at).toBeInstanceOf(Date);
      expect({ ...tombstone, erased_at: 0 }).toStrictEqual({
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
      });
    });

    it('leaves on the record who erased what, and none of its contents', async () => {
      const id = await save('L', { content: 'Secret words on the record', scope: 'l-private' });
      const { erasure_id } = await eraseMemory('L', id);
      const rows = await gateway.sql('L', 'select * from public.audit_log where row_id = $1 order by audit_id', [id]);
      expect(rows.map(({ operation, status, caller, scope }) => [operation, status, caller, scope])).toStrictEqual(
        ['INSERT', 'DELETE', 'ERASE'].map((operation) => [operation, 'success', 'L', 'l-private']),
      );
      expect(rows[2].details.erasure_id).toBe(erasure_id);
      expect(JSON.stringify(rows)).not.toMatch(/secret words/i);
    });

    it('shows its tombstone to admins of the tenant within their scopes and projects, and to nobody else', async () => {
      const ids = [await save('L', { scope: 'l-private' }), await save('L', { project_id: 'other' })];
      for (const id of ids) await eraseMemory('L', id);
      const seen = async (caller: string, claims: Record<string, string>) =>
        (await tombstones(caller, ids, claims)).map(({ packet_id }) => packet_id);
      expect(await seen('L', {})).toStrictEqual([...ids].sort());
      expect(await seen('L', { 'jwt.claims.scopes': '["developer"]' })).toStrictEqual([ids[1]]);
      expect(await seen('L', { 'jwt.claims.projects': '["l9"]' })).toStrictEqual([ids[0]]);
      expect(await seen('L', acme)).toStrictEqual([]);
      await expect(tombstones('C', ids)).rejects.toMatchObject({ code: '42501' });
      const { data } = await gateway.graphql('C', '{ memoryTombstones { totalCount } }');
      expect(data?.memoryTombstones?.totalCount ?? null).toBeNull();
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
          const erased = await gateway.tool(caller, tool, { ...args, packet_id: id });
          const never = await gateway.tool(caller, tool, { ...args, packet_id: missing });
          expect(erased.text.replaceAll(id, '<id>')).toBe(never.text.replaceAll(missing, '<id>'));
          expect(erased.text).toMatch(/L9OWN/);
        }
      }
      await expect(eraseMemory('L', id)).rejects.toMatchObject({ code: 'L9OWN' });
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
          await expect(gateway.sql(caller, statement), statement).rejects.toMatchObject({ code: '42501' });
      }
    });

    it('lets the same text be saved again, as a memory of its own', async () => {
      const content = 'Said, forgotten, and said again';
      const id = await save('C', { content, idempotency_key: 'said once' });
      await eraseMemory('L', id);
      const again = await save('C', { content, idempotency_key: 'said once' });
      expect(again).not.toBe(id);
      expect(await isThere(again)).toBe(true);
    });

    it('takes what has expired but not been cleaned up yet', async () => {
      const id = await save('L', { ttl: new Date(Date.now() + 300).toISOString() });
      await new Promise((resolve) => setTimeout(resolve, 350));
      expect((await eraseMemory('L', id)).memories).toBe(1);
      expect(await isThere(id)).toBe(false);
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
        expect(texts[0]!).toMatch(/^L9OWN/);
        expect(texts[0]).toBe(texts[1]);
        expect(await isThere(id)).toBe(true);
      }
    });

    it('wants a reason, in 200 bytes', async () => {
      const id = await save('L');
      for (const [reason, code] of [
        [' ', 'L9VAL'],
        ['é'.repeat(101), 'L9LIM'],
      ] as const) {
        await expect(eraseMemory('L', id, {}, reason)).rejects.toMatchObject({ code, column: 'reason' });
      }
      await expect(gateway.sql('L', 'select public.erase_memory($1, null)', [id])).rejects.toMatchObject({
        code: 'L9VAL',
      });
      expect((await eraseMemory('L', id, {}, 'é'.repeat(100))).memories).toBe(1);
    });

    it('by an operator reaches every tenant, on the record of that tenant; with a token cut down, its own', async () => {
      const id = await save('L', {}, acme);
      await expect(eraseMemory('Ops', id, { ...operator, 'jwt.claims.scopes': '["developer"]' })).rejects.toMatchObject(
        { code: 'L9OWN' },
      );
      expect((await eraseMemory('Ops', id, operator)).memories).toBe(1);
      const rows = await gateway.sql(
        'L',
        "select caller from public.audit_log where row_id = $1 and operation = 'ERASE'",
        [id],
        acme,
      );
      expect(rows).toStrictEqual([{ caller: 'Ops' }]);
      expect(await tombstones('L', [id], acme)).toHaveLength(1);
      expect(await tombstones('L', [id])).toHaveLength(0);
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
      expect(memories).toBe(3);
      expect(await left(all)).toStrictEqual([false, true, false, false, true, true, true]);
      expect((await tombstones('L', [a, summary, fact])).every((row) => row.erasure_id === erasure_id)).toBe(true);

      expect((await eraseMemory('L', b)).memories).toBe(3);
      expect(await left(all)).toStrictEqual([false, false, false, false, false, false, true]);
    });

    it('counts a parent that was deleted before as none', async () => {
      const [a, b] = [await save('C'), await save('C')];
      const summary = await derive('summary', [a, b]);
      await gateway.sql('L', 'select public.delete_memory($1)', [a]);
      expect(await isThere(summary)).toBe(true);
      expect((await eraseMemory('L', b)).memories).toBe(2);
      expect(await isThere(summary)).toBe(false);
    });

    it('is refused where a copy is beyond the reach of the token: all of it goes, or nothing', async () => {
      const id = await save('C');
      const summary = await derive('summary', [id], { scope: 'l-private' });
      await expect(eraseMemory('L', id, { 'jwt.claims.scopes': '["developer"]' })).rejects.toMatchObject({
        code: 'L9SCP',
      });
      expect(await left([id, summary])).toStrictEqual([true, true]);
      expect(await tombstones('L', [id, summary])).toStrictEqual([]);
      expect((await eraseMemory('L', id)).memories).toBe(2);
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
      await gateway.sql('C', "select public.update_memory($1, content => 'changed')", [own[0]], asUser);
      const others = [
        await save('C', { thread_id: 'a thread' }),
        await save('C', {}, { 'jwt.claims.user_id': missing }),
        await save('L', {}, { ...acme, ...asUser }),
      ];
      await new Promise((resolve) => setTimeout(resolve, 150));
      const { memories, removed, erasure_id } = await eraseSubject('L', user);
      expect(memories).toBe(3);
      expect(removed.versions).toBe(1);
      for (const id of own) expect(await isThere(id)).toBe(false);
      for (const id of others) expect(await isThere(id)).toBe(true);

      const rows = await gateway.sql(
        'L',
        "select table_name, row_id, details from public.audit_log where operation = 'ERASE' and details ->> 'erasure_id' = $1 order by audit_id",
        [erasure_id],
      );
      expect(rows.map(({ row_id }) => row_id).sort()).toStrictEqual([...own, user].sort());
      const subject = rows.find(({ row_id }) => row_id === user);
      expect(subject.table_name).toBe('users');
      expect(subject.details.removed.memories).toBe(3);
    });

    it('is for a token that covers the whole tenant: any other would leave some behind', async () => {
      const id = await save('C', {}, asUser);
      for (const claims of [{ 'jwt.claims.scopes': '["developer", "global"]' }, { 'jwt.claims.projects': '["l9"]' }]) {
        await expect(eraseSubject('L', user, claims)).rejects.toMatchObject({ code: 'L9SCP' });
      }
      await expect(eraseSubject('C', user)).rejects.toMatchObject({ code: 'L9SCP' });
      const { errors } = await gateway.graphql(
        'C',
        'mutation ($id: UUID!) { eraseSubject(input: { userId: $id, reason: "x" }) { result { memories } } }',
        { id: user },
      );
      expect(errors?.[0]?.extensions?.code).toBe('SCOPE_DENIED');
      expect(await isThere(id)).toBe(true);
    });

    it('happens in one tenant: its own for L, the one they name for operators', async () => {
      const someone = '01900000-0000-7000-8000-0000000000cc';
      const claims = { 'jwt.claims.user_id': someone };
      const ids = [await save('C', {}, claims), await save('C', {}, { ...acme, ...claims })];
      const tenant = acme['jwt.claims.tenant_id']!;
      await expect(eraseSubject('L', someone, {}, tenant)).rejects.toMatchObject({ code: 'L9SCP' });
      expect((await eraseSubject('Ops', someone, operator, tenant)).memories).toBe(1);
      expect([await isThere(ids[0]!), await isThere(ids[1]!)]).toStrictEqual([true, false]);
      expect((await eraseSubject('L', someone)).memories).toBe(1);
      expect((await eraseSubject('L', someone)).memories, 'nothing is left, which is no error').toBe(0);
    });
  });

  describeOnServer('beside other work', () => {
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
      expect(outcomes.sort()).toStrictEqual([...new Array(8).fill('L9OWN'), ...new Array(8).fill('erased')]);
    });

    it('waits for a change that is under way, and takes what it left', async () => {
      const id = await save('C');
      let erasing: Promise<{ removed: { versions: number } }> | undefined;
      await gateway.asCaller('C', async (client) => {
        await client.query("select public.update_memory($1, content => 'written meanwhile')", [id]);
        erasing = eraseMemory('L', id);
        await new Promise((resolve) => setTimeout(resolve, 200));
      });
      expect((await erasing!).removed.versions).toBe(1);
      expect(await isThere(id)).toBe(false);
    });

    it('leaves an embedding that is under way nothing to store', async () => {
      const worker = gateway.instance.database.workerPool;
      const id = await save('C');
      const [{ content_hash }] = await gateway.sql(
        'L',
        'select content_hash from public.packet_store where packet_id = $1',
        [id],
      );
      await eraseMemory('L', id);
      const { rows } = await worker.query(
        "select embeddings.store_embeddings($1, $2, $3, array[$4], '{}', '{}', '{}') as stored",
        [id, content_hash, gateway.instance.embedder.model, JSON.stringify(new Array(1536).fill(0.1))],
      );
      expect(rows[0].stored).toBe(false);
    });
  });
});
