// What administrators are told about the database, and that nobody else is told anything.
import { serveModel, wordModel } from '../support/embeddings.ts';
import { saveMemory } from '../support/memories.ts';
import { DEFAULT_TENANT } from '../support/sessions.ts';
import { addOperator, addTenant } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('health', () => {
  const db = useTestDatabase();
  const healthOf = async (caller: string, claims = {}) => {
    const [row] = await db.sql(caller, 'select to_jsonb(h) as health from public.health() h', [], claims);
    return row.health;
  };
  const secret = 'the orchid password stands behind the clock';

  beforeAll(async () => {
    await serveModel(db, wordModel(['orchid']));
    await saveMemory(db, 'L', { content: secret, scope: 'l-private' });
    await db.asWorker("update embeddings.pending_embeddings set attempts = 2, last_error = 'ProviderDown'");
    await db.asWorker(
      `select tasks.record_runs('embed_pending', now() - interval '2 seconds', jsonb_build_object($1::text, '{}'::jsonb)),
         tasks.record_runs('embed_pending', now(), jsonb_build_object($1::text, '{}'::jsonb), 'TimeoutError of a text')`,
      [DEFAULT_TENANT],
    );
  });

  it('tells the admin of the only tenant of the whole server', async () => {
    const health = await healthOf('L');
    expect(health).toMatchObject({
      is_whole_server: true,
      serving_model: 'words',
      embedding_waiting: 1,
      embedding_failing: 1,
      embedding_error: 'ProviderDown',
      extraction_waiting: 0,
      jobs: [{ type: 'embed_pending', runs: 2, failed: 1, last_error: 'TimeoutError' }],
    });
    expect(health.database_bytes).toBeGreaterThan(1_000_000);
    const names = health.tables.map(({ table_name }: { table_name: string }) => table_name);
    expect(names).toContain('public.packet_store');
    expect(names).not.toContain('partitions.audit_log');
    expect(new Set(names).size).toBe(names.length);
    expect(health.indexes.every(({ is_valid }: { is_valid: boolean }) => is_valid)).toBe(true);
    const sizes = health.tables.map((t: { table_bytes: number; index_bytes: number }) => t.table_bytes + t.index_bytes);
    expect(sizes).toStrictEqual(sizes.toSorted((a: number, b: number) => b - a));
  });

  it('holds no content', async () => {
    const text = JSON.stringify(await healthOf('L'));
    expect(text).not.toMatch(/orchid|of a text/);
  });

  it.each([
    ['an agent', 'C', {}],
    ['an agent that claims to be an admin', 'C', { role: 'l9_admin' }],
    ['an unknown caller', 'nobody', {}],
    ['an admin whose token is limited to a scope', 'L', { 'jwt.claims.scopes': '["developer"]' }],
    ['an admin whose token is limited to a project', 'L', { 'jwt.claims.projects': '["l9"]' }],
  ])('refuses %s', async (_, caller, claims) => {
    await expect(healthOf(caller, claims)).rejects.toMatchObject({
      code: expect.stringMatching(/^(L9SCP|L9AUT|42501)$/),
    });
  });

  it('lets nobody call its parts', async () => {
    for (const part of ['health.tables()', 'health.indexes()', 'health.jobs(null)', 'health.max_counted()'])
      for (const caller of ['C', 'L'])
        await expect(db.sql(caller, `select ${part}`), `${caller} ${part}`).rejects.toMatchObject({ code: '42501' });
  });

  it('shows a DBA who acts for the owner the whole server', async () => {
    const [{ health }] = await db.asOwner('select to_jsonb(h) as health from public.health() h');
    expect(health).toMatchObject({ is_whole_server: true, embedding_waiting: 1 });
  });

  describe('where two tenants share a server', () => {
    let other: { 'jwt.claims.tenant_id': string };
    beforeAll(async () => {
      other = await addTenant(db, 'other');
    });

    it('tells an admin of nothing that depends on the other tenant', async () => {
      const before = await healthOf('L', other);
      expect(before).toMatchObject({
        ...{ is_whole_server: false, tables: [], indexes: [], jobs: [] },
        ...{ embedding_waiting: 0, extraction_waiting: 0, arriving_model: null, arriving_memories: null },
        ...{ database_bytes: null, cache_hit_rate: null, unsealed_rows: null, accesses_waiting: null },
      });
      for (let i = 0; i < 20; i++) await saveMemory(db, 'L', { content: `note ${i} of the first tenant` });
      const { checked_at: _before, last_sealed_at: _sealed, ...then } = before;
      const { checked_at: _after, last_sealed_at: _now, ...now } = await healthOf('L', other);
      expect(now).toStrictEqual(then);
      expect(await healthOf('L')).toMatchObject({
        is_whole_server: false,
        embedding_waiting: 21,
        embedding_failing: 1,
      });
    });

    it('tells an operator of the whole server', async () => {
      const operator = await addOperator(db, 'ops');
      expect(await healthOf('ops', operator)).toMatchObject({ is_whole_server: true, embedding_waiting: 21 });
    });
  });
});
