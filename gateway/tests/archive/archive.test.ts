// Archived sessions through the APIs: what is stored, who opens it, and what becomes of changed bytes, keys and stores.
import { randomBytes } from 'node:crypto';
import { grepDatabase } from '../../../db/tests/support/dump.ts';
import { serverUrl } from '../../../db/tests/support/engine.ts';
import { startTestGateway, useTestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';
import { keepMessages, retrieve, sessionOf, store } from './support.ts';

const POINTER = /^cascade:\/\/[0-9a-f]{64}$/;
const key = (id: string) => `${id}:${randomBytes(32).toString('base64')}`;

describe('an archived session', () => {
  const gateway = useTestGateway({ embedder: standIn });

  it('comes back as it was, without the fields that the tenant does not keep', async () => {
    const session = { ...sessionOf('gearbox'), environment: { HOME: '/home/ann' } };
    const archived = await store(gateway, 'C', session);
    expect(archived).toMatchObject({ status: 'inserted', indexed: true, redacted: 0, findings: null });
    expect(archived.pointer).toMatch(POINTER);
    const { result } = await retrieve(gateway, 'C', archived.pointer);
    const { environment: _, messages, ...kept } = session;
    expect(result).toStrictEqual({ session_data: { ...kept, tags: ['gearbox', 'repair'] }, verified: true });

    await keepMessages(gateway);
    const whole = await store(gateway, 'C', { ...session, session_id: 'whole' });
    expect((await retrieve(gateway, 'C', whole.pointer)).result.session_data.messages).toStrictEqual(messages);
  });

  // The embedded engine keeps the memory that a session of 20 MB took, so it stores smaller ones here.
  it.each([
    100,
    10_000,
    1_000_000,
    serverUrl ? 20_000_000 : 4_000_000,
  ])('of %d bytes comes back to the last byte', async (bytes) => {
    await keepMessages(gateway);
    const session = sessionOf(`crank${bytes}`, bytes);
    const { pointer } = await store(gateway, 'C', session);
    expect((await retrieve(gateway, 'C', pointer)).result.session_data.messages).toStrictEqual(session.messages);
  });

  it('is stored once by its owner', async () => {
    const first = await store(gateway, 'C', sessionOf('clutch'));
    const again = await store(gateway, 'C', sessionOf('clutch'));
    expect(again).toMatchObject({ status: 'skipped_dedupe', pointer: first.pointer });
    const ofAnother = await store(gateway, 'L', sessionOf('clutch'), { scope: 'developer' });
    expect(ofAnother.status).toBe('inserted');
    expect(ofAnother.pointer).not.toBe(first.pointer);
  });

  it('is found by its summary, as a memory and as an archive, and goes with its memory, key and bytes', async () => {
    const { pointer, packet_id } = await store(gateway, 'C', sessionOf('carburettor'));
    const { sessions } = await gateway.call('C', 'query_cascade_memories', { query: 'carburettor' });
    expect(sessions).toMatchObject([{ pointer, title: 'Repaired the carburettor', session_id: 'session-carburettor' }]);
    const newest = await gateway.call('C', 'query_cascade_memories', { tags: ['carburettor'] });
    expect(newest.sessions).toHaveLength(1);
    const { hits } = await gateway.call('C', 'search_memory', { query: 'carburettor', mode: 'lexical' });
    expect(hits[0]).toMatchObject({ packet_id, kind: 'session' });
    const data = await gateway.query('C', '{ queryCascadeMemories(query: "carburettor") { pointer memory { kind } } }');
    expect(data.queryCascadeMemories).toStrictEqual([{ pointer, memory: { kind: 'session' } }]);

    await gateway.call('C', 'delete_memory', { packet_id });
    expect((await retrieve(gateway, 'C', pointer)).text).toMatch(/^NOT_YOURS \(L9OWN\)/);
    const [left] = await gateway.asSuperuser(
      "select (select count(*)::integer from archive.wrapped_keys w where not exists (select from session_archives a where a.archive_id = w.archive_id)) as keys, (select count(*)::integer from archive_blobs b where 'cascade://' || encode(b.content_hash, 'hex') = $1) as blobs",
      [pointer],
    );
    expect(left).toStrictEqual({ keys: 0, blobs: 0 });
  });

  it('of l-private is out of reach for C: by pointer, list, search, bytes, and by storing the same', async () => {
    const session = sessionOf('turbine');
    const { pointer } = await store(gateway, 'L', session, { scope: 'l-private' });
    const missing = `cascade://${'0'.repeat(64)}`;
    const hidden = await retrieve(gateway, 'C', pointer);
    expect(hidden.text).toBe((await retrieve(gateway, 'C', missing)).text);
    for (const args of [{ query: 'turbine' }, { tags: ['turbine'] }])
      expect((await gateway.call('C', 'query_cascade_memories', args)).sessions).toStrictEqual([]);
    const ofC = await store(gateway, 'C', session);
    expect(ofC.status).toBe('inserted');
    const [bytes] = await gateway.sql(
      'C',
      'select archive.get_archive_blob(archive.hash_of($1)) is null as none, archive.has_archive_blob(archive.hash_of($1)) as size',
      [pointer],
    );
    expect(bytes).toStrictEqual({ none: true, size: null });
    for (const table of ['public.archive_blobs', 'archive.wrapped_keys', 'archive.prepared_sessions'])
      await expect(gateway.sql('C', `select * from ${table}`)).rejects.toThrow('permission denied');
  });

  it('is stored in the scope of the caller that the fewest can read, unless it names one', async () => {
    const scopeOf = async (packetId: string) =>
      (await gateway.sql('L', 'select scope from packet_store where packet_id = $1', [packetId]))[0].scope;
    expect(await scopeOf((await store(gateway, 'L', sessionOf('anvil'))).packet_id)).toBe('l-private');
  });

  it('has a cost by its pointer, for those who can open it', async () => {
    await gateway.sql('L', "select set_storage_price('postgres', 'EUR', 0.1, 0, 0)");
    const { pointer } = await store(gateway, 'L', sessionOf('gauge'), { scope: 'l-private' });
    const cost = await gateway.call('L', 'estimate_storage_cost', { pointer });
    const [{ size }] = await gateway.sql('L', 'select size::integer from session_archives where pointer = $1', [
      pointer,
    ]);
    expect(cost).toMatchObject({ bytes: size, redundancy: 1, connector: 'postgres', currency: 'EUR' });
    expect(cost.monthly_cost).toBeCloseTo((size / 1e9) * 0.1, 15);
    expect((await gateway.tool('C', 'estimate_storage_cost', { pointer })).text).toMatch(
      /^NOT_YOURS \(L9OWN\): pointer/,
    );
  });

  it('is on the record with its pointer, when it is stored and when it is opened', async () => {
    const { pointer } = await store(gateway, 'C', sessionOf('flywheel'));
    await retrieve(gateway, 'C', pointer);
    const rows = await gateway.asSuperuser(
      "select operation, status, caller from audit_log where details ->> 'pointer' = $1 order by audit_id",
      [pointer],
    );
    expect(rows).toStrictEqual([
      { operation: 'ARCHIVE', status: 'success', caller: 'C' },
      { operation: 'RETRIEVE', status: 'success', caller: 'C' },
    ]);
  });

  it('with a secret is refused whole, and nothing of it is stored', async () => {
    await keepMessages(gateway);
    const secret = `ghp_${'aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z'}xZ`;
    const session = sessionOf('spindle');
    session.messages[1]!.tool_calls![0]!.input = { deep: { deeper: [{ still: { there: secret } }] } } as never;
    const refused = await store(gateway, 'C', session);
    expect(refused).toMatchObject({ status: 'refused', pointer: null, packet_id: null });
    expect(refused.findings[0].path).toContain('$.messages[1].tool_calls[0].input.deep.deeper[0].still.there');
    expect(JSON.stringify(refused)).not.toContain(secret);
    await gateway.inSuperuserSession(async (session) => {
      expect(await grepDatabase(session, [secret])).toStrictEqual({});
      expect(await grepDatabase(session, ['session-spindle'])).toStrictEqual({});
    });

    const redacted = await store(gateway, 'C', session, { redact: true });
    expect(redacted).toMatchObject({ status: 'inserted', redacted: 1 });
    const { result } = await retrieve(gateway, 'C', redacted.pointer);
    expect(JSON.stringify(result)).not.toContain(secret);
    expect(JSON.stringify(result)).toContain('[redacted: ');
  });

  it.each([
    [{ session_id: '' }, /session_id/],
    [{ ...sessionOf('bolt'), timestamp: 'yesterday or so' }, /timestamp/],
    [{ ...sessionOf('bolt'), summary: 'x'.repeat(20_000) }, /16384/],
    [{ ...sessionOf('bolt'), messages: 'none' }, /messages/],
  ])('is refused with the name of the field that is malformed', async (session, expected) => {
    const { isError, text } = await gateway.tool('C', 'store_session_to_cascade', { session, project_id: 'l9' });
    expect(isError).toBe(true);
    expect(text).toMatch(/^INVALID_INPUT \(L9VAL\): session/);
    expect(text).toMatch(expected);
  });

  it('is not opened once a bit of its bytes, its key or its place was changed', async () => {
    const [one, two] = [
      await store(gateway, 'C', sessionOf('piston')),
      await store(gateway, 'C', sessionOf('camshaft')),
    ];
    const idOf = async ({ pointer }: { pointer: string }) =>
      (await gateway.asSuperuser('select archive_id from session_archives where pointer = $1', [pointer]))[0]
        .archive_id;
    const [first, second] = [await idOf(one), await idOf(two)];
    const problems = async () =>
      (
        await gateway.asSuperuser(
          "select details ->> 'problem' as problem from audit_log where operation = 'RETRIEVE' and status = 'error' and row_id = $1 order by audit_id",
          [first],
        )
      ).map(({ problem }) => problem);
    const opens = async () => (await retrieve(gateway, 'C', one.pointer)).text;

    // The constraint of the table would refuse other bytes, so it is away while they are changed.
    const flip = 'set blob = set_byte(blob, 40, get_byte(blob, 40) # 1)';
    const alter = (sql: string, values: unknown[] = []) =>
      gateway.inSuperuserSession(async (session) => {
        await session.query('set session_replication_role = replica');
        await session.query(sql, values);
        await session.query('reset session_replication_role');
      });
    await alter('alter table archive_blobs drop constraint blob_is_its_hash');
    await alter(`update archive_blobs ${flip} where 'cascade://' || encode(content_hash, 'hex') = $1`, [one.pointer]);
    expect(await opens()).toMatch(/^INTEGRITY_ERROR \(L9INT\): pointer: its stored bytes are not those/);
    await alter(`update archive_blobs ${flip} where 'cascade://' || encode(content_hash, 'hex') = $1`, [one.pointer]);
    expect(await opens()).toMatch(/verified/);

    await alter("update session_archives set key_id = 'another' where archive_id = $1", [first]);
    expect(await opens()).toMatch(/^KEY_ERROR \(L9KEY\)/);
    await alter(
      'update session_archives a set key_id = b.key_id from session_archives b where a.archive_id = $1 and b.archive_id = $2',
      [first, second],
    );
    await alter(
      'update archive.wrapped_keys w set wrapped_key = o.wrapped_key from archive.wrapped_keys o where w.archive_id = $1 and o.archive_id = $2',
      [first, second],
    );
    expect(await opens()).toMatch(/^KEY_ERROR \(L9KEY\)/);
    await alter("delete from archive_blobs where 'cascade://' || encode(content_hash, 'hex') = $1", [two.pointer]);
    expect((await retrieve(gateway, 'C', two.pointer)).text).toMatch(
      /^INTEGRITY_ERROR \(L9INT\): pointer: no store has/,
    );
    expect(await problems()).toStrictEqual(['hash', 'key', 'key']);
    expect(await gateway.metrics()).toMatch(/^l9_archive_problems_total\{problem="hash"\} 1$/m);

    const verified = await gateway.call('C', 'verify_archives', { limit: 100 });
    expect(verified.problems).toStrictEqual(
      expect.arrayContaining([
        { pointer: one.pointer, problem: 'key' },
        { pointer: two.pointer, problem: 'missing' },
      ]),
    );
  });
});

describe('the keys of archives', () => {
  it('are wrapped anew without touching bytes, and then open without the former master key', async () => {
    const [former, current] = [key('k1'), key('k2')];
    const gateway = await startTestGateway({ embedder: standIn, env: { ARCHIVE_KEYS: former } });
    const { home } = gateway;
    const kept = { ...home, drop: async () => {} };
    gateway.home.drop = async () => {};
    const { pointer } = await store(gateway, 'C', sessionOf('hinge'));
    await gateway.close();

    const rotating = await startTestGateway({
      embedder: standIn,
      home: kept,
      env: { ARCHIVE_KEYS: `${current},${former}` },
    });
    const again = await store(rotating, 'C', sessionOf('hinge'));
    expect(again, 'a session is known again by each key').toMatchObject({ status: 'skipped_dedupe', pointer });
    expect(await rotating.tool('C', 'rotate_archive_keys')).toMatchObject({ isError: true });
    expect(await rotating.call('L', 'rotate_archive_keys')).toStrictEqual({ rotated: 1, failed: 0, next: null });
    expect(await rotating.call('L', 'rotate_archive_keys')).toStrictEqual({ rotated: 0, failed: 0, next: null });
    await rotating.close();

    const alone = await startTestGateway({ embedder: standIn, home: kept, env: { ARCHIVE_KEYS: current } });
    expect((await retrieve(alone, 'C', pointer)).result.session_data.session_id).toBe('session-hinge');
    await alone.close();
  });

  it('are asked for with the command that makes one, when they are missing or short', async () => {
    const gateway = await startTestGateway({ embedder: standIn, env: { ARCHIVE_KEYS: 'k1:c2hvcnQ=' } });
    const { text } = await gateway.tool('C', 'store_session_to_cascade', {
      session: sessionOf('nut'),
      project_id: 'l9',
    });
    expect(text).toMatch(
      /^KEY_ERROR \(L9KEY\): ARCHIVE_KEYS: a key must be 32 bytes in base64; `echo "k1:\$\(openssl rand -base64 32\)"`/,
    );
    await gateway.close();
  });
});
