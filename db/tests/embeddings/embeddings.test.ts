import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { serverUrl } from '../../../gateway/tests/support/databases.ts';
import { type House, openHouse } from '../../../gateway/tests/support/house.ts';

/** The embedded engine has one. */
const BUCKETS = serverUrl ? 16 : 1;

describe('memory_embeddings', () => {
  let house: House;
  before(async () => {
    house = await openHouse();
  });
  after(() => house.close());

  const save = async (caller: string, args: object) => {
    const { result } = await house.tool(caller, 'save_memory', args);
    await house.embedded();
    return result.memory.packet_id as string;
  };
  const vectorsOf = (caller: string, id: string) =>
    house.sql(
      caller,
      'select chunk_index, chunk_text, scope, project_id, model, metadata, extensions.vector_dims(vector) as dims from public.memory_embeddings where packet_id = $1 order by chunk_index',
      [id],
    );

  it('hold one vector for a short memory, of the model that made it, padded to 1536', async () => {
    const id = await save('C', { content: 'a short memory', project_id: 'l9' });
    const rows = await vectorsOf('C', id);
    assert.deepEqual(rows, [
      {
        chunk_index: 0,
        chunk_text: null,
        scope: 'developer',
        project_id: 'l9',
        model: 'all-MiniLM-L6-v2-int8',
        metadata: {},
        dims: 1536,
      },
    ]);
  });

  it('hold the chunks of a long memory, with the offsets they were cut at', async () => {
    const content = Array.from({ length: 120 }, (_, i) => `Sentence number ${i} speaks of topic ${i * 7}.`).join(' ');
    const id = await save('C', { content, project_id: 'l9' });
    const [whole, ...chunks] = await vectorsOf('C', id);
    assert.equal(whole.chunk_index, 0);
    assert.ok(chunks.length > 1);
    for (const { chunk_text, metadata } of chunks)
      assert.equal(content.slice(metadata.start, metadata.end), chunk_text);
    const [row] = await house.sql('C', 'select chunk_count, is_chunked from public.packet_store where packet_id = $1', [
      id,
    ]);
    assert.deepEqual(row, { chunk_count: chunks.length, is_chunked: true });
    const [{ n }] = await house.sql(
      'L',
      "select count(*)::int as n from public.audit_log where row_id = $1 and operation = 'UPDATE'",
      [id],
    );
    assert.equal(n, 0, 'counting chunks is no update by anyone');
  });

  it('follow the memory to another scope: C loses them with it', async () => {
    const id = await save('C', { content: 'follow me into the dark', project_id: 'l9' });
    assert.equal((await vectorsOf('C', id)).length, 1);
    await house.tool('L', 'update_memory', { packet_id: id, scope: 'l-private' });
    assert.deepEqual(await vectorsOf('C', id), []);
    assert.deepEqual(
      (await vectorsOf('L', id)).map(({ scope }) => scope),
      ['l-private'],
    );
    await house.tool('L', 'update_memory', { packet_id: id, project_id: 'future-x' });
    assert.deepEqual(
      (await vectorsOf('L', id)).map(({ project_id }) => project_id),
      ['future-x'],
    );
  });

  it('are made anew when the content changes, and the old ones are gone at once', async () => {
    const id = await save('C', { content: 'the price of fish', project_id: 'l9' });
    const [before] = await house.sql('C', 'select embedding_id from public.memory_embeddings where packet_id = $1', [
      id,
    ]);
    await house.asCaller('C', async (client) => {
      await client.query("select public.update_memory($1, content => 'orbital mechanics')", [id]);
      const { rows } = await client.query('select 1 from public.memory_embeddings where packet_id = $1', [id]);
      assert.equal(rows.length, 0);
    });
    // The list is looked at every few seconds; a save through the gateway makes it look now.
    await save('C', { content: 'something else', project_id: 'l9' });
    const [after] = await house.sql('C', 'select embedding_id from public.memory_embeddings where packet_id = $1', [
      id,
    ]);
    assert.notEqual(after.embedding_id, before.embedding_id);
  });

  it('go with the memory', async () => {
    const id = await save('C', { content: 'to be deleted', project_id: 'l9' });
    await house.tool('C', 'delete_memory', { packet_id: id });
    const { rows } = await house.gateway.database.workerPool.query(
      'select count(*)::int as n from public.memory_embeddings where packet_id = $1',
      [id],
    );
    assert.equal(rows[0].n, 0);
  });

  it('show C none of l-private, in rows or counts', async () => {
    await save('L', { content: 'private vectors', scope: 'l-private', project_id: 'l9' });
    const [{ n }] = await house.sql(
      'C',
      "select count(*)::int as n from public.memory_embeddings where scope = 'l-private'",
    );
    assert.equal(n, 0);
    const { data } = await house.graphql('C', '{ memoryEmbeddings { nodes { scope } } }');
    assert.ok(!JSON.stringify(data).includes('l-private'));
  });

  it('are stored once, though the same memory is stored twice', async () => {
    const id = await save('C', { content: 'stored twice', project_id: 'l9' });
    const { rows } = await house.gateway.database.workerPool.query(
      `select embeddings.store_embeddings(p.packet_id, p.content_hash, e.model, array[e.vector::text], '{}', '{}', '{}') as stored
       from public.packet_store p join public.memory_embeddings e using (packet_id) where p.packet_id = $1`,
      [id],
    );
    assert.equal(rows[0].stored, true);
    assert.equal((await vectorsOf('C', id)).length, 1);
  });

  it('are not stored for a content that has changed since', async () => {
    const id = await save('C', { content: 'changed since', project_id: 'l9' });
    const { rows } = await house.gateway.database.workerPool.query(
      `select embeddings.store_embeddings($1, sha256('other'), 'all-MiniLM-L6-v2-int8', array[]::text[], '{}', '{}', '{}') as stored`,
      [id],
    );
    assert.equal(rows[0].stored, false);
  });

  describe('register_embedding_model', () => {
    const register = (model: string, dimensions: number) =>
      house.gateway.database.workerPool.query('select public.register_embedding_model($1, $2)', [model, dimensions]);
    const indexes = async (model: string) => {
      const { rows } = await house.gateway.database.workerPool.query(
        "select indexdef from pg_indexes where tablename = 'memory_embeddings' and indexdef like '%hnsw%' and position($1 in indexdef) > 0",
        [`'${model}'`],
      );
      return rows.map(({ indexdef }) => indexdef as string);
    };

    it('makes an index for each type, and for each bucket of tenants where searches walk it, once', async () => {
      await register("o'model/x".replace("'", ''), 8);
      await register('omodel/x', 8);
      const made = await indexes('omodel/x');
      assert.equal(made.length, 3 * BUCKETS + 2);
      for (const type of ['content', 'context', 'entity', 'summary', 'reasoning']) {
        assert.equal(
          made.filter((definition) => definition.includes(`'${type}'`) && definition.includes('(8)')).length,
          ['content', 'context', 'reasoning'].includes(type) ? BUCKETS : 1,
          type,
        );
      }
    });

    it('refuses bad names and dimensions, and other dimensions for a known model', async () => {
      await assert.rejects(register("x'; drop table tenants; --", 8), { code: 'L9VAL', column: 'model' });
      await assert.rejects(register('big', 1537), { code: 'L9VAL', column: 'dimensions' });
      await assert.rejects(register('all-MiniLM-L6-v2-int8', 8), { code: 'L9VAL', column: 'dimensions' });
    });
  });
});
