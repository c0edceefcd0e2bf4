import { startTestGateway, type TestGateway } from '../../../gateway/tests/support/gateway.ts';
import { standIn } from '../../../gateway/tests/support/stand-in.ts';

describe('a saved memory', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
  });
  afterAll(() => gateway.close());

  let serial = 0;
  const save = async (caller: string, args: object = {}) =>
    (
      await gateway.tool(caller, 'save_memory', {
        content: `something to change ${serial++}`,
        project_id: 'l9',
        ...args,
      })
    ).result.memory;
  const update = (caller: string, args: object) => gateway.tool(caller, 'update_memory', args);

  describe('when updated', () => {
    it('changes what is given and keeps the rest', async () => {
      const memory = await save('C', { tags: ['a'], importance: 0.7, envelope: { title: 'T' } });
      const { result } = await update('C', { packet_id: memory.packet_id, kind: 'decision', envelope: { more: 1 } });
      expect(result.status).toBe('updated');
      expect({ ...result.memory, updated_at: 0 }).toStrictEqual({
        ...memory,
        kind: 'decision',
        envelope: { title: 'T', more: 1 },
        updated_at: 0,
      });
      expect(Date.parse(result.memory.updated_at)).toBeGreaterThan(Date.parse(memory.updated_at));
    });

    it('says who wrote last: L takes over what it changes, and C can no longer', async () => {
      const memory = await save('C');
      const { result } = await update('L', { packet_id: memory.packet_id, tags: ['by L'] });
      expect(result.memory.metadata.creator).toBe('L-CTO');
      expect((await update('C', { packet_id: memory.packet_id, tags: ['by C'] })).text).toMatch(/L9OWN/);
    });

    it('takes an expiry and gives it up again', async () => {
      const { packet_id } = await save('C');
      expect(
        (await update('C', { packet_id, ttl: '2099-01-01T00:00:00Z' })).result.memory.ttl.startsWith('2099'),
      ).toBeTruthy();
      expect((await update('C', { packet_id, ttl: 'infinity' })).result.memory.ttl).toBeNull();
    });

    it('moves between scopes, leaving its project behind where the new one has none', async () => {
      const { packet_id } = await save('L');
      expect((await update('L', { packet_id, scope: 'global' })).result.memory.project_id).toBeNull();
      expect((await update('L', { packet_id, scope: 'developer' })).text).toMatch(/L9VAL.*project_id/);
      expect((await update('L', { packet_id, scope: 'l-private', project_id: 'l9' })).result.memory.scope).toBe(
        'l-private',
      );
    });

    it('is refused by C into a scope that is not its own, and stays as it was', async () => {
      const memory = await save('C');
      expect((await update('C', { packet_id: memory.packet_id, scope: 'l-private' })).text).toMatch(/L9SCP/);
      const { result } = await gateway.tool('C', 'get_memory', { packet_id: memory.packet_id });
      expect(result.memory).toStrictEqual(memory);
    });

    it('is refused where another memory already says the same', async () => {
      const [a, b] = [await save('C'), await save('C')];
      const { text } = await update('C', { packet_id: a.packet_id, content: b.content.toUpperCase() });
      expect(text).toMatch(/L9VAL.*content: another memory/);
    });
  });

  describe('when something it rests on is gone', () => {
    it('can still be changed, and keeps its parents until it is given others or moves', async () => {
      const parent = await save('C');
      const child = await save('C', { parent_ids: [parent.packet_id] });
      await gateway.tool('C', 'delete_memory', { packet_id: parent.packet_id });
      const { text, result } = await update('C', { packet_id: child.packet_id, content: 'the parent was deleted' });
      expect(result?.status, text).toBe('updated');
      expect(result.memory.parent_ids).toStrictEqual([parent.packet_id]);
      // Whoever would read it there may not know of the parent's id: that can't be told any more.
      expect((await update('C', { packet_id: child.packet_id, scope: 'global' })).text).toMatch(/L9VAL.*parent_ids/);
      const moved = await update('C', { packet_id: child.packet_id, scope: 'global', parent_ids: [] });
      expect(moved.result.memory.scope).toBe('global');
    });
  });

  describe('in a scope that its reader may not write', () => {
    it('is neither changed nor deleted, also not by an admin', async () => {
      await gateway.asSuperuser(
        `insert into public.actors (tenant_id, caller, creator, source, agent, role, readable_scopes, writable_scopes)
         select tenant_id, 'Auditor', 'Auditor', 'auditor', 'auditor', 'l9_admin', '{*}', '{global}' from public.tenants`,
      );
      const { packet_id, content } = await save('C');
      const attempt = (statement: string) => gateway.sql('Auditor', statement, [packet_id], { role: 'l9_admin' });
      expect((await attempt('select content from public.get_memory($1)'))[0].content).toBe(content);
      for (const call of ["update_memory($1, kind => 'decision')", 'delete_memory($1)']) {
        await expect(attempt(`select public.${call}`), call).rejects.toMatchObject({ code: 'L9OWN' });
      }
      const raw = ["update public.packet_store set tags = '{x}'", 'delete from public.packet_store'];
      for (const statement of raw) {
        expect(await attempt(`${statement} where packet_id = $1 returning 1`), statement).toStrictEqual([]);
      }
      const { result } = await gateway.tool('C', 'get_memory', { packet_id });
      expect(result.memory.metadata.creator).toBe('Cursor-IDE');
    });
  });

  describe('when it has expired', () => {
    const saveExpired = async (content: string, claims: Record<string, string> = {}) => {
      const [{ id }] = await gateway.sql(
        'C',
        `select (memory).packet_id as id
         from public.save_memory($1, scope => 'global', ttl => clock_timestamp() + interval '20 milliseconds')`,
        [content],
        claims,
      );
      await new Promise((resolve) => setTimeout(resolve, 40));
      return id;
    };
    const isThere = async (id: string) =>
      (await gateway.asSuperuser('select 1 from public.packet_store where packet_id = $1', [id])).length === 1;

    it('stands in the way of nothing that says the same: a save, an update, or raw SQL', async () => {
      const other = await save('C', { scope: 'global', project_id: undefined });
      const ways: [string, (content: string) => Promise<unknown>][] = [
        ['save', (content) => gateway.sql('C', "select public.save_memory($1, scope => 'global')", [content])],
        ['update', (content) => gateway.sql('C', 'select public.update_memory($2, $1)', [content, other.packet_id])],
        [
          'insert',
          (content) =>
            gateway.sql(
              'C',
              "insert into public.packet_store (envelope, scope) values (jsonb_build_object('content', $1::text), 'global')",
              [content],
            ),
        ],
      ];
      for (const [way, say] of ways) {
        const content = `said before by ${way}`;
        const expired = await saveExpired(content);
        expect(await isThere(expired)).toBe(true);
        await say(content);
        expect(await isThere(expired), way).toBe(false);
        const now = await gateway.sql('C', 'select packet_id from public.packet_store where content = $1', [content]);
        expect(now, way).toHaveLength(1);
      }
    });

    it('is cleaned up by an agent that may only where it could have seen it', async () => {
      await gateway.asSuperuser(
        `insert into public.actors (tenant_id, caller, creator, source, agent, role, readable_scopes, writable_scopes, can_clean_up)
         select tenant_id, 'Janitor', 'Janitor', 'janitor', 'janitor', 'l9_agent', '{global}', '{global}', true from public.tenants`,
      );
      const [org, user] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'];
      const ofTenant = await saveExpired('of the tenant, expired');
      const ofOrg = await saveExpired('of an org, expired', { 'jwt.claims.org_id': org });
      const ofUser = await saveExpired('of a user, expired', { 'jwt.claims.org_id': org, 'jwt.claims.user_id': user });
      const cleanUp = async (claims: Record<string, string>) =>
        Number((await gateway.sql('Janitor', 'select public.delete_expired_memories() as n', [], claims))[0].n);
      expect(await cleanUp({})).toBe(1);
      expect([await isThere(ofTenant), await isThere(ofOrg), await isThere(ofUser)]).toStrictEqual([false, true, true]);
      expect(await cleanUp({ 'jwt.claims.org_id': org })).toBe(1);
      expect([await isThere(ofOrg), await isThere(ofUser)]).toStrictEqual([false, true]);
      const [{ n }] = await gateway.sql('L', 'select public.delete_expired_memories() as n');
      expect(Number(n), 'an admin has its whole tenant').toBe(1);
    });

    it('is gone for everybody, through every API, before anybody cleans up', async () => {
      const { packet_id, content } = await save('L', {
        scope: 'global',
        project_id: undefined,
        ttl: new Date(Date.now() + 1500).toISOString(),
      });
      expect(
        await gateway.sql('C', 'select 1 from public.packet_store where packet_id = $1', [packet_id]),
      ).toHaveLength(1);
      await gateway.embedded();
      await new Promise((resolve) => setTimeout(resolve, 1600));
      for (const caller of ['C', 'L']) {
        expect(
          await gateway.sql(caller, 'select 1 from public.packet_store where packet_id = $1', [packet_id]),
        ).toHaveLength(0);
        expect(
          await gateway.sql(caller, 'select 1 from public.memory_embeddings where packet_id = $1', [packet_id]),
          'nor what was derived from it',
        ).toHaveLength(0);
        expect((await gateway.tool(caller, 'get_memory', { packet_id })).text).toMatch(/L9OWN/);
        expect((await gateway.tool(caller, 'update_memory', { packet_id, ttl: 'infinity' })).text).toMatch(/L9OWN/);
        const { hits } = (await gateway.tool(caller, 'search_memory', { query: content })).result;
        expect(hits.some((hit: { packet_id: string }) => hit.packet_id === packet_id)).toBeFalsy();
      }
    });

    it('is deleted by cleanup, and nothing else is', async () => {
      const kept = await save('L', { scope: 'global', project_id: undefined, ttl: '2099-01-01T00:00:00Z' });
      const { result } = await gateway.tool('L', 'delete_expired_memories');
      expect(result.deleted).toBe(1);
      expect((await gateway.tool('L', 'get_memory', { packet_id: kept.packet_id })).isError).toBe(false);
      const [{ n }] = await gateway.sql(
        'L',
        "select count(*)::int as n from public.audit_log where operation = 'DELETE' and tool_name = 'delete_expired_memories'",
      );
      expect(n).toBe(1);
    });
  });
});
