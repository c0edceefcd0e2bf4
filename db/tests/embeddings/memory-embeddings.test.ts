import { embedPending, serveModel, wordModel } from '../support/embeddings.ts';
import { saveMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';

const model = wordModel(['fish', 'orbit']);

describe('memory_embeddings', () => {
  const db = useTestDatabase();
  beforeAll(() => serveModel(db, model));

  const embed = () => embedPending(db, model);
  const save = async (caller: string, args: { content: string; scope?: string }) => {
    const id = await saveMemory(db, caller, args);
    await embed();
    return id;
  };
  const vectorsOf = (caller: string, id: string) =>
    db.sql(
      caller,
      'select embedding_id, scope, project_id from public.memory_embeddings where packet_id = $1 order by chunk_index',
      [id],
    );

  it('follows the memory to another scope, where C loses the vectors with it', async () => {
    const id = await save('C', { content: 'follow me into the dark' });
    expect(await vectorsOf('C', id)).toHaveLength(1);
    await db.sql('L', "select public.update_memory($1, scope => 'l-private')", [id]);
    expect(await vectorsOf('C', id)).toStrictEqual([]);
    expect((await vectorsOf('L', id)).map(({ scope }) => scope)).toStrictEqual(['l-private']);
    await db.sql('L', "select public.update_memory($1, project_id => 'future-x')", [id]);
    expect((await vectorsOf('L', id)).map(({ project_id }) => project_id)).toStrictEqual(['future-x']);
  });

  it('loses the old vectors at once when the content changes, and gets new ones', async () => {
    const id = await save('C', { content: 'the price of fish' });
    const [before] = await vectorsOf('C', id);
    await db.asCaller('C', async (client) => {
      await client.query("select public.update_memory($1, content => 'orbital mechanics')", [id]);
      const { rows } = await client.query('select 1 from public.memory_embeddings where packet_id = $1', [id]);
      expect(rows).toHaveLength(0);
    });
    await embed();
    const [after] = await vectorsOf('C', id);
    expect(after.embedding_id).not.toBe(before.embedding_id);
  });

  it('loses the vectors of a deleted memory', async () => {
    const id = await save('C', { content: 'to be deleted' });
    await db.sql('C', 'select public.delete_memory($1)', [id]);
    expect(await db.asWorker('select 1 from public.memory_embeddings where packet_id = $1', [id])).toHaveLength(0);
  });

  it('holds each vector also in the dimensions of its model, even when it is loaded with triggers switched off', async () => {
    const [{ packet_id: id }] = await db.asSuperuser('select packet_id from public.packet_store limit 1');
    await db.asWorker("select public.register_embedding_model('three', 3)");
    await db.asSuperuser(
      `begin; set local session_replication_role = replica;
       insert into public.memory_embeddings (packet_id, model, vector, tenant_id, scope)
       select p.packet_id, 'three', ('[3,0,4' || repeat(',0', 1533) || ']')::extensions.vector, p.tenant_id, p.scope
       from public.packet_store p where p.packet_id = '${id}'; commit`,
    );
    const [row] = await db.asSuperuser(
      "select compared_vector::text as compared, extensions.vector_dims(vector) as dims from public.memory_embeddings where model = 'three'",
    );
    expect(row).toStrictEqual({ compared: '[3,0,4]', dims: 1536 });
  });

  it('shows C none of l-private, in rows or counts', async () => {
    await save('L', { content: 'private vectors', scope: 'l-private' });
    const query = "select count(*)::int as n from public.memory_embeddings where scope = 'l-private'";
    expect(await db.sql('C', query)).toStrictEqual([{ n: 0 }]);
    expect((await db.sql('L', query))[0].n).toBeGreaterThan(0);
  });

  it('gives each caller its own rows by the scan of an index, whoever scanned it before in the session', async () => {
    const id = await save('L', { content: 'scanned in private', scope: 'l-private' });
    const [{ name, bucket, query }] = await db.asSuperuser(
      `select embeddings.nearest_function_name(e.model, 'content') as name, packets.tenant_bucket(e.tenant_id) as bucket,
         e.compared_vector::text as query
       from public.memory_embeddings e where e.packet_id = $1`,
      [id],
    );
    const scan = `select from embeddings.${name}($1, $2, 1000, $3, null, null, true) n where $4 = any (n.ids)`;
    const found = async (caller: string, scopes: string[] | null) =>
      (await db.sql(caller, scan, [bucket, query, scopes, id])).length;
    for (const caller of ['L', 'C', 'L', 'C']) expect(await found(caller, null)).toBe(caller === 'L' ? 1 : 0);
    expect(await found('L', ['developer'])).toBe(0);
    expect(await found('L', ['l-private'])).toBe(1);
  });

  it('stores a vector once, though it is stored twice', async () => {
    const id = await save('C', { content: 'stored twice' });
    const [{ stored }] = await db.asWorker(
      `select embeddings.store_embeddings(p.packet_id, p.content_hash, e.model, array[e.vector::text], '{}', '{}', '{}') as stored
       from public.packet_store p join public.memory_embeddings e using (packet_id) where p.packet_id = $1`,
      [id],
    );
    expect(stored).toBe(true);
    expect(await vectorsOf('C', id)).toHaveLength(1);
  });

  it('stores no vector for a content that has changed since', async () => {
    const id = await save('C', { content: 'changed since' });
    const [{ stored }] = await db.asWorker(
      "select embeddings.store_embeddings($1, sha256('other'), $2, array[]::text[], '{}', '{}', '{}') as stored",
      [id, model.name],
    );
    expect(stored).toBe(false);
  });
});
