import { startTestGateway, type TestGateway } from '../../../gateway/tests/support/gateway.ts';
import { serverUrl } from '../support/engine.ts';

/** The embedded engine has one. */
const BUCKETS = serverUrl ? 16 : 1;

describe('memory_embeddings', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway.close());

  const save = async (caller: string, args: object) => {
    const { result } = await gateway.tool(caller, 'save_memory', args);
    await gateway.embedded();
    return result.memory.packet_id as string;
  };
  const vectorsOf = (caller: string, id: string) =>
    gateway.sql(
      caller,
      'select chunk_index, chunk_text, scope, project_id, model, metadata, extensions.vector_dims(vector) as dims from public.memory_embeddings where packet_id = $1 order by chunk_index',
      [id],
    );

  it('hold one vector for a short memory, of the model that made it, padded to 1536', async () => {
    const id = await save('C', { content: 'a short memory', project_id: 'l9' });
    const rows = await vectorsOf('C', id);
    expect(rows).toStrictEqual([
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
    expect(whole.chunk_index).toBe(0);
    expect(chunks.length).toBeGreaterThan(1);
    for (const { chunk_text, metadata } of chunks) expect(content.slice(metadata.start, metadata.end)).toBe(chunk_text);
    const [row] = await gateway.sql(
      'C',
      'select chunk_count, is_chunked from public.packet_store where packet_id = $1',
      [id],
    );
    expect(row).toStrictEqual({ chunk_count: chunks.length, is_chunked: true });
    const [{ n }] = await gateway.sql(
      'L',
      "select count(*)::int as n from public.audit_log where row_id = $1 and operation = 'UPDATE'",
      [id],
    );
    expect(n, 'counting chunks is no update by anyone').toBe(0);
  });

  it('follow the memory to another scope: C loses them with it', async () => {
    const id = await save('C', { content: 'follow me into the dark', project_id: 'l9' });
    expect(await vectorsOf('C', id)).toHaveLength(1);
    await gateway.tool('L', 'update_memory', { packet_id: id, scope: 'l-private' });
    expect(await vectorsOf('C', id)).toStrictEqual([]);
    expect((await vectorsOf('L', id)).map(({ scope }) => scope)).toStrictEqual(['l-private']);
    await gateway.tool('L', 'update_memory', { packet_id: id, project_id: 'future-x' });
    expect((await vectorsOf('L', id)).map(({ project_id }) => project_id)).toStrictEqual(['future-x']);
  });

  it('are made anew when the content changes, and the old ones are gone at once', async () => {
    const id = await save('C', { content: 'the price of fish', project_id: 'l9' });
    const [before] = await gateway.sql('C', 'select embedding_id from public.memory_embeddings where packet_id = $1', [
      id,
    ]);
    await gateway.asCaller('C', async (client) => {
      await client.query("select public.update_memory($1, content => 'orbital mechanics')", [id]);
      const { rows } = await client.query('select 1 from public.memory_embeddings where packet_id = $1', [id]);
      expect(rows).toHaveLength(0);
    });
    // The list is looked at every few seconds; a save through the gateway makes it look now.
    await save('C', { content: 'something else', project_id: 'l9' });
    const [after] = await gateway.sql('C', 'select embedding_id from public.memory_embeddings where packet_id = $1', [
      id,
    ]);
    expect(after.embedding_id).not.toBe(before.embedding_id);
  });

  it('go with the memory', async () => {
    const id = await save('C', { content: 'to be deleted', project_id: 'l9' });
    await gateway.tool('C', 'delete_memory', { packet_id: id });
    const { rows } = await gateway.instance.database.workerPool.query(
      'select count(*)::int as n from public.memory_embeddings where packet_id = $1',
      [id],
    );
    expect(rows[0].n).toBe(0);
  });

  it('show C none of l-private, in rows or counts', async () => {
    await save('L', { content: 'private vectors', scope: 'l-private', project_id: 'l9' });
    const [{ n }] = await gateway.sql(
      'C',
      "select count(*)::int as n from public.memory_embeddings where scope = 'l-private'",
    );
    expect(n).toBe(0);
    const { data } = await gateway.graphql('C', '{ memoryEmbeddings { nodes { scope } } }');
    expect(JSON.stringify(data)).not.toContain('l-private');
  });

  it('are stored once, though the same memory is stored twice', async () => {
    const id = await save('C', { content: 'stored twice', project_id: 'l9' });
    const { rows } = await gateway.instance.database.workerPool.query(
      `select embeddings.store_embeddings(p.packet_id, p.content_hash, e.model, array[e.vector::text], '{}', '{}', '{}') as stored
       from public.packet_store p join public.memory_embeddings e using (packet_id) where p.packet_id = $1`,
      [id],
    );
    expect(rows[0].stored).toBe(true);
    expect(await vectorsOf('C', id)).toHaveLength(1);
  });

  it('are not stored for a content that has changed since', async () => {
    const id = await save('C', { content: 'changed since', project_id: 'l9' });
    const { rows } = await gateway.instance.database.workerPool.query(
      `select embeddings.store_embeddings($1, sha256('other'), 'all-MiniLM-L6-v2-int8', array[]::text[], '{}', '{}', '{}') as stored`,
      [id],
    );
    expect(rows[0].stored).toBe(false);
  });

  describe('register_embedding_model', () => {
    const register = (model: string, dimensions: number) =>
      gateway.instance.database.workerPool.query('select public.register_embedding_model($1, $2)', [model, dimensions]);
    const indexes = async (model: string) => {
      const { rows } = await gateway.instance.database.workerPool.query(
        "select indexdef from pg_indexes where tablename = 'memory_embeddings' and indexdef like '%hnsw%' and position($1 in indexdef) > 0",
        [`'${model}'`],
      );
      return rows.map(({ indexdef }) => indexdef as string);
    };

    it('makes an index for each type, and for each bucket of tenants where searches walk it, once', async () => {
      await register("o'model/x".replace("'", ''), 8);
      await register('omodel/x', 8);
      const made = await indexes('omodel/x');
      expect(made).toHaveLength(3 * BUCKETS + 2);
      for (const type of ['content', 'context', 'entity', 'summary', 'reasoning']) {
        expect(
          made.filter((definition) => definition.includes(`'${type}'`) && definition.includes('(8)')),
          type,
        ).toHaveLength(['content', 'context', 'reasoning'].includes(type) ? BUCKETS : 1);
      }
    });

    it('refuses bad names and dimensions, and other dimensions for a known model', async () => {
      await expect(register("x'; drop table tenants; --", 8)).rejects.toMatchObject({ code: 'L9VAL', column: 'model' });
      await expect(register('big', 1537)).rejects.toMatchObject({ code: 'L9VAL', column: 'dimensions' });
      await expect(register('all-MiniLM-L6-v2-int8', 8)).rejects.toMatchObject({ code: 'L9VAL', column: 'dimensions' });
    });
  });
});
