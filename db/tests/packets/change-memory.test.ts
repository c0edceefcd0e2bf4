import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type House, openHouse } from '../../../gateway/tests/support/house.ts';

describe('a saved memory', () => {
  let house: House;
  before(async () => {
    house = await openHouse();
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

  describe('when it has expired', () => {
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
