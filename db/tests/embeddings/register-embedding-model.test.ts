import { serverUrl } from '../support/engine.ts';
import { useTestDatabase } from '../support/test-database.ts';

/** The embedded engine has one bucket of tenants. */
const BUCKETS = serverUrl ? 16 : 1;

describe('register_embedding_model', () => {
  const db = useTestDatabase();
  const register = (model: string, dimensions: number) =>
    db.asWorker('select public.register_embedding_model($1, $2)', [model, dimensions]);
  const indexes = async (model: string) => {
    const rows = await db.asWorker(
      "select indexdef from pg_indexes where tablename = 'memory_embeddings' and indexdef like '%hnsw%' and position($1 in indexdef) > 0",
      [`'${model}'`],
    );
    return rows.map(({ indexdef }) => indexdef as string);
  };

  it('creates an index for each type and bucket of tenants, once', async () => {
    await register('omodel/x', 8);
    await register('omodel/x', 8);
    const created = await indexes('omodel/x');
    expect(created).toHaveLength(3 * BUCKETS);
    for (const type of ['content', 'context', 'reasoning']) {
      expect(
        created.filter((definition) => definition.includes(`'${type}'`) && definition.includes('(8)')),
        type,
      ).toHaveLength(BUCKETS);
    }
  });

  it('creates a function for each type, which agents may call and which goes with the model', async () => {
    const functions = () =>
      db.asSuperuser(
        `select p.proname from pg_proc p join pg_namespace n on n.oid = p.pronamespace and n.nspname = 'embeddings'
         where p.proname like 'nearest!_%!_%' escape '!' and position('''scanned''' in p.prosrc) > 0
           and has_function_privilege('l9_agent', p.oid, 'execute') and not has_function_privilege('l9_worker', p.oid, 'execute')
           and obj_description(p.oid) is not null`,
      );
    await register('scanned', 8);
    expect(await functions()).toHaveLength(3);
    await db.asWorker(
      "update public.embedding_models set state = 'leaving', state_since = now() where model = 'scanned'",
    );
    await db.asWorker("select embeddings.drop_embedding_model('scanned')");
    expect(await functions()).toHaveLength(0);
    expect(await indexes('scanned')).toHaveLength(0);
  });

  it('refuses bad names and dimensions, and other dimensions for a registered model', async () => {
    await register('small', 8);
    await expect(register("x'; drop table tenants; --", 8)).rejects.toMatchObject({ code: 'L9VAL', column: 'model' });
    await expect(register('big', 1537)).rejects.toMatchObject({ code: 'L9VAL', column: 'dimensions' });
    await expect(register('small', 9)).rejects.toMatchObject({ code: 'L9VAL', column: 'dimensions' });
  });
});
