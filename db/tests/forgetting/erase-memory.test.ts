// Erasing one memory: who may, which memories, and what all callers see afterwards.
import { serveModel, wordModel } from '../support/embeddings.ts';
import { errorOf } from '../support/errors.ts';
import { describeOnServer } from '../support/on-engine.ts';
import type { Claims } from '../support/sessions.ts';
import { addOperator, addTenant } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { erasuresOf, missing } from './support.ts';

describe('erase_memory', () => {
  const db = useTestDatabase();
  const { save, eraseMemory, isThere, tombstones } = erasuresOf(db);
  let acme: Claims;
  let operator: Claims;
  beforeAll(async () => {
    acme = await addTenant(db, 'acme');
    operator = await addOperator(db, 'Ops');
  });

  it('erases memories for L and refuses agents', async () => {
    const ids = [await save('C'), await save('C')];
    await expect(eraseMemory('C', ids[0]!)).rejects.toMatchObject({ code: 'L9SCP' });
    expect(await tombstones('L', ids)).toStrictEqual([]);
    expect(await isThere(ids[0]!)).toBe(true);

    const { memories, removed } = await eraseMemory('L', ids[0]!);
    expect({ memories, versions: removed.versions }).toStrictEqual({ memories: 1, versions: 0 });
    expect((await eraseMemory('L', ids[1]!)).memories).toBe(1);
    for (const id of ids) expect(await isThere(id)).toBe(false);
  });

  it('audits who erased which memory, without its contents', async () => {
    const id = await save('L', { content: 'Secret words on the record', scope: 'l-private' });
    const { erasure_id } = await eraseMemory('L', id);
    const rows = await db.sql('L', 'select * from public.audit_log where row_id = $1 order by audit_id', [id]);
    expect(rows.map(({ operation, status, caller, scope }) => [operation, status, caller, scope])).toStrictEqual(
      ['INSERT', 'DELETE', 'ERASE'].map((operation) => [operation, 'success', 'L', 'l-private']),
    );
    expect(rows[2].details.erasure_id).toBe(erasure_id);
    expect(JSON.stringify(rows)).not.toMatch(/secret words/i);
  });

  it('answers every later call as if the memory had never existed', async () => {
    const id = await save('C');
    await eraseMemory('L', id);
    for (const caller of ['C', 'L']) {
      for (const call of [
        'public.get_memory($1)',
        "public.update_memory($1, tags => '{x}')",
        'public.delete_memory($1)',
      ]) {
        const [erased, never] = await Promise.all(
          [id, missing].map((asked) => errorOf(db.sql(caller, `select ${call}`, [asked]))),
        );
        expect(erased.code).toBe('L9OWN');
        expect(erased.message.replaceAll(id, '<id>')).toBe(never.message.replaceAll(missing, '<id>'));
      }
    }
    await expect(eraseMemory('L', id)).rejects.toMatchObject({ code: 'L9OWN' });
  });

  it('lets the same text be saved again as a new memory', async () => {
    const content = 'Said, forgotten, and said again';
    const id = await save('C', { content, idempotency_key: 'said once' });
    await eraseMemory('L', id);
    const again = await save('C', { content, idempotency_key: 'said once' });
    expect(again).not.toBe(id);
    expect(await isThere(again)).toBe(true);
  });

  it('erases a memory that has expired and is not cleaned up yet', async () => {
    const id = await save('L', { ttl: new Date(Date.now() + 300).toISOString() });
    await new Promise((resolve) => setTimeout(resolve, 350));
    expect((await eraseMemory('L', id)).memories).toBe(1);
    expect(await isThere(id)).toBe(false);
  });

  it('finds no memory outside the tenant, scopes and projects of the token', async () => {
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

  it('requires a reason of at most 200 bytes', async () => {
    const id = await save('L');
    for (const [reason, code] of [
      [' ', 'L9VAL'],
      ['é'.repeat(101), 'L9LIM'],
    ] as const) {
      await expect(eraseMemory('L', id, {}, reason)).rejects.toMatchObject({ code, column: 'reason' });
    }
    await expect(db.sql('L', 'select public.erase_memory($1, null)', [id])).rejects.toMatchObject({
      code: 'L9VAL',
    });
    expect((await eraseMemory('L', id, {}, 'é'.repeat(100))).memories).toBe(1);
  });

  it('lets an operator with an unrestricted token erase in every tenant, audited in that tenant', async () => {
    const id = await save('L', {}, acme);
    await expect(eraseMemory('Ops', id, { ...operator, 'jwt.claims.scopes': '["developer"]' })).rejects.toMatchObject({
      code: 'L9OWN',
    });
    expect((await eraseMemory('Ops', id, operator)).memories).toBe(1);
    const rows = await db.sql(
      'L',
      "select caller from public.audit_log where row_id = $1 and operation = 'ERASE'",
      [id],
      acme,
    );
    expect(rows).toStrictEqual([{ caller: 'Ops' }]);
    expect(await tombstones('L', [id], acme)).toHaveLength(1);
    expect(await tombstones('L', [id])).toHaveLength(0);
  });

  it('lets a running embedding of the memory store nothing', async () => {
    const model = wordModel(['forgotten']);
    await serveModel(db, model);
    const id = await save('C');
    const [{ content_hash }] = await db.sql('L', 'select content_hash from public.packet_store where packet_id = $1', [
      id,
    ]);
    await eraseMemory('L', id);
    const [{ stored }] = await db.asWorker(
      "select embeddings.store_embeddings($1, $2, $3, array[$4], '{}', '{}', '{}') as stored",
      [id, content_hash, model.name, model.vectorOf('forgotten')],
    );
    expect(stored).toBe(false);
  });
});

describeOnServer('erase_memory from several connections', () => {
  const db = useTestDatabase();
  const { save, eraseMemory, isThere } = erasuresOf(db);

  it('erases a memory once: of two concurrent calls one finds nothing', async () => {
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

  it('waits for a concurrent update and erases its versions too', async () => {
    const id = await save('C');
    let erasing: Promise<{ removed: { versions: number } }> | undefined;
    await db.asCaller('C', async (client) => {
      await client.query("select public.update_memory($1, content => 'written meanwhile')", [id]);
      erasing = eraseMemory('L', id);
      await new Promise((resolve) => setTimeout(resolve, 200));
    });
    expect((await erasing!).removed.versions).toBe(1);
    expect(await isThere(id)).toBe(false);
  });
});
