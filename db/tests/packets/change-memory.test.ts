import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type House, openHouse } from '../../../gateway/tests/support/house.ts';
import { standIn } from '../../../gateway/tests/support/stand-in.ts';

describe('a saved memory', () => {
  let house: House;
  before(async () => {
    house = await openHouse({ embedder: standIn });
  });
  after(() => house.close());

  let serial = 0;
  const save = async (caller: string, args: object = {}) =>
    (await house.tool(caller, 'save_memory', { content: `something to change ${serial++}`, project_id: 'l9', ...args }))
      .result.memory;
  const update = (caller: string, args: object) => house.tool(caller, 'update_memory', args);

  describe('when updated', () => {
    it('changes what is given and keeps the rest', async () => {
      const memory = await save('C', { tags: ['a'], importance: 0.7, envelope: { title: 'T' } });
      const { result } = await update('C', { packet_id: memory.packet_id, kind: 'decision', envelope: { more: 1 } });
      assert.equal(result.status, 'updated');
      assert.deepEqual(
        { ...result.memory, updated_at: 0 },
        { ...memory, kind: 'decision', envelope: { title: 'T', more: 1 }, updated_at: 0 },
      );
      assert.ok(result.memory.updated_at > memory.updated_at);
    });

    it('says who wrote last: L takes over what it changes, and C can no longer', async () => {
      const memory = await save('C');
      const { result } = await update('L', { packet_id: memory.packet_id, tags: ['by L'] });
      assert.equal(result.memory.metadata.creator, 'L-CTO');
      assert.match((await update('C', { packet_id: memory.packet_id, tags: ['by C'] })).text, /L9OWN/);
    });

    it('takes an expiry and gives it up again', async () => {
      const { packet_id } = await save('C');
      assert.ok((await update('C', { packet_id, ttl: '2099-01-01T00:00:00Z' })).result.memory.ttl.startsWith('2099'));
      assert.equal((await update('C', { packet_id, ttl: 'infinity' })).result.memory.ttl, null);
    });

    it('moves between scopes, leaving its project behind where the new one has none', async () => {
      const { packet_id } = await save('L');
      assert.equal((await update('L', { packet_id, scope: 'global' })).result.memory.project_id, null);
      assert.match((await update('L', { packet_id, scope: 'developer' })).text, /L9VAL.*project_id/);
      assert.equal(
        (await update('L', { packet_id, scope: 'l-private', project_id: 'l9' })).result.memory.scope,
        'l-private',
      );
    });

    it('is refused by C into a scope that is not its own, and stays as it was', async () => {
      const memory = await save('C');
      assert.match((await update('C', { packet_id: memory.packet_id, scope: 'l-private' })).text, /L9SCP/);
      const { result } = await house.tool('C', 'get_memory', { packet_id: memory.packet_id });
      assert.deepEqual(result.memory, memory);
    });

    it('is refused where another memory already says the same', async () => {
      const [a, b] = [await save('C'), await save('C')];
      const { text } = await update('C', { packet_id: a.packet_id, content: b.content.toUpperCase() });
      assert.match(text, /L9VAL.*content: another memory/);
    });
  });

  describe('when something it rests on is gone', () => {
    it('can still be changed, and keeps its parents until it is given others or moves', async () => {
      const parent = await save('C');
      const child = await save('C', { parent_ids: [parent.packet_id] });
      await house.tool('C', 'delete_memory', { packet_id: parent.packet_id });
      const { text, result } = await update('C', { packet_id: child.packet_id, content: 'the parent was deleted' });
      assert.equal(result?.status, 'updated', text);
      assert.deepEqual(result.memory.parent_ids, [parent.packet_id]);
      // Whoever would read it there may not know of the parent's id: that can't be told any more.
      assert.match((await update('C', { packet_id: child.packet_id, scope: 'global' })).text, /L9VAL.*parent_ids/);
      const moved = await update('C', { packet_id: child.packet_id, scope: 'global', parent_ids: [] });
      assert.equal(moved.result.memory.scope, 'global');
    });
  });

  describe('in a scope that its reader may not write', () => {
    it('is neither changed nor deleted, also not by an admin', async () => {
      await house.asSuperuser(
        `insert into public.actors (tenant_id, caller, creator, source, agent, role, readable_scopes, writable_scopes)
         select tenant_id, 'Auditor', 'Auditor', 'auditor', 'auditor', 'l9_admin', '{*}', '{global}' from public.tenants`,
      );
      const { packet_id, content } = await save('C');
      const attempt = (statement: string) => house.sql('Auditor', statement, [packet_id], { role: 'l9_admin' });
      assert.equal((await attempt('select content from public.get_memory($1)'))[0].content, content);
      for (const call of ["update_memory($1, kind => 'decision')", 'delete_memory($1)']) {
        await assert.rejects(attempt(`select public.${call}`), { code: 'L9OWN' }, call);
      }
      const raw = ["update public.packet_store set tags = '{x}'", 'delete from public.packet_store'];
      for (const statement of raw) {
        assert.deepEqual(await attempt(`${statement} where packet_id = $1 returning 1`), [], statement);
      }
      const { result } = await house.tool('C', 'get_memory', { packet_id });
      assert.equal(result.memory.metadata.creator, 'Cursor-IDE');
    });
  });

  describe('when it has expired', () => {
    const saveExpired = async (content: string, claims: Record<string, string> = {}) => {
      const [{ id }] = await house.sql(
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
      (await house.asSuperuser('select 1 from public.packet_store where packet_id = $1', [id])).length === 1;

    it('stands in the way of nothing that says the same: a save, an update, or raw SQL', async () => {
      const other = await save('C', { scope: 'global', project_id: undefined });
      const ways: [string, (content: string) => Promise<unknown>][] = [
        ['save', (content) => house.sql('C', "select public.save_memory($1, scope => 'global')", [content])],
        ['update', (content) => house.sql('C', 'select public.update_memory($2, $1)', [content, other.packet_id])],
        [
          'insert',
          (content) =>
            house.sql(
              'C',
              "insert into public.packet_store (envelope, scope) values (jsonb_build_object('content', $1::text), 'global')",
              [content],
            ),
        ],
      ];
      for (const [way, say] of ways) {
        const content = `said before by ${way}`;
        const expired = await saveExpired(content);
        assert.ok(await isThere(expired));
        await say(content);
        assert.ok(!(await isThere(expired)), way);
        const now = await house.sql('C', 'select packet_id from public.packet_store where content = $1', [content]);
        assert.equal(now.length, 1, way);
      }
    });

    it('is cleaned up by an agent that may only where it could have seen it', async () => {
      await house.asSuperuser(
        `insert into public.actors (tenant_id, caller, creator, source, agent, role, readable_scopes, writable_scopes, can_clean_up)
         select tenant_id, 'Janitor', 'Janitor', 'janitor', 'janitor', 'l9_agent', '{global}', '{global}', true from public.tenants`,
      );
      const [org, user] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'];
      const ofTenant = await saveExpired('of the tenant, expired');
      const ofOrg = await saveExpired('of an org, expired', { 'jwt.claims.org_id': org });
      const ofUser = await saveExpired('of a user, expired', { 'jwt.claims.org_id': org, 'jwt.claims.user_id': user });
      const cleanUp = async (claims: Record<string, string>) =>
        Number((await house.sql('Janitor', 'select public.delete_expired_memories() as n', [], claims))[0].n);
      assert.equal(await cleanUp({}), 1);
      assert.deepEqual([await isThere(ofTenant), await isThere(ofOrg), await isThere(ofUser)], [false, true, true]);
      assert.equal(await cleanUp({ 'jwt.claims.org_id': org }), 1);
      assert.deepEqual([await isThere(ofOrg), await isThere(ofUser)], [false, true]);
      const [{ n }] = await house.sql('L', 'select public.delete_expired_memories() as n');
      assert.equal(Number(n), 1, 'an admin has its whole tenant');
    });

    it('is gone for everybody, through every door, before anybody cleans up', async () => {
      const { packet_id, content } = await save('L', {
        scope: 'global',
        project_id: undefined,
        ttl: new Date(Date.now() + 1500).toISOString(),
      });
      assert.equal(
        (await house.sql('C', 'select 1 from public.packet_store where packet_id = $1', [packet_id])).length,
        1,
      );
      await house.embedded();
      await new Promise((resolve) => setTimeout(resolve, 1600));
      for (const caller of ['C', 'L']) {
        assert.equal(
          (await house.sql(caller, 'select 1 from public.packet_store where packet_id = $1', [packet_id])).length,
          0,
        );
        assert.equal(
          (await house.sql(caller, 'select 1 from public.memory_embeddings where packet_id = $1', [packet_id])).length,
          0,
          'nor what was derived from it',
        );
        assert.match((await house.tool(caller, 'get_memory', { packet_id })).text, /L9OWN/);
        assert.match((await house.tool(caller, 'update_memory', { packet_id, ttl: 'infinity' })).text, /L9OWN/);
        const { hits } = (await house.tool(caller, 'search_memory', { query: content })).result;
        assert.ok(!hits.some((hit: { packet_id: string }) => hit.packet_id === packet_id));
      }
    });

    it('is deleted by cleanup, and nothing else is', async () => {
      const kept = await save('L', { scope: 'global', project_id: undefined, ttl: '2099-01-01T00:00:00Z' });
      const { result } = await house.tool('L', 'delete_expired_memories');
      assert.equal(result.deleted, 1);
      assert.equal((await house.tool('L', 'get_memory', { packet_id: kept.packet_id })).isError, false);
      const [{ n }] = await house.sql(
        'L',
        "select count(*)::int as n from public.audit_log where operation = 'DELETE' and tool_name = 'delete_expired_memories'",
      );
      assert.equal(n, 1);
    });
  });
});
