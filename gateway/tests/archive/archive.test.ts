// Archived sessions through the APIs: what is stored, who opens it, and what becomes of changed bytes, keys and stores.
import { grepDatabase } from '../../../db/tests/support/dump.ts';
import { serverUrl } from '../../../db/tests/support/engine.ts';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { useTestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';
import { keepMessages, POINTER, retrieve, sessionOf, store } from './support.ts';

describe('an archived session', () => {
  const gateway = useTestGateway({ embedder: standIn });
  const inDeveloper = { scope: 'developer', project_id: 'gears' };
  const update = (packet_id: string, fields: object) => gateway.tool('L', 'update_memory', { packet_id, ...fields });
  const expire = async ({ packet_id, pointer }: { packet_id: string; pointer: string }) => {
    const [{ ttl }] = await gateway.asSuperuser("select clock_timestamp() + interval '300 milliseconds' as ttl");
    expect(await update(packet_id, { ttl: ttl.toISOString() })).toMatchObject({ isError: false });
    await eventually(async () => (await retrieve(gateway, 'L', pointer)).isError);
  };

  it('comes back as it was, without the fields that the tenant does not keep', async () => {
    const session = { ...sessionOf('gearbox'), environment: { HOME: '/home/ann' } };
    const archived = await store(gateway, 'C', session);
    expect(archived).toMatchObject({ status: 'inserted', indexed: true, redacted: 0, findings: null });
    expect(archived.pointer).toMatch(POINTER);
    const { result } = await retrieve(gateway, 'C', archived.pointer);
    const { environment: _, messages, ...kept } = session;
    expect(result).toStrictEqual({
      session_data: { ...kept, tags: ['gearbox', 'repair'] },
      creator: 'Cursor-IDE',
      source: 'cursor-ide',
      verified: true,
    });

    await keepMessages(gateway);
    const whole = await store(gateway, 'C', { ...session, session_id: 'whole' });
    expect((await retrieve(gateway, 'C', whole.pointer)).result.session_data.messages).toStrictEqual(messages);
  });

  it('may hold characters that no text can, over MCP and GraphQL: they are replaced as in a file', async () => {
    await keepMessages(gateway);
    const messages = [
      { role: 'user', text: 'Run it \ud83d now.' },
      { role: 'tool', text: 'MZ\0\0 printed', tool_calls: [{ name: 'cat\0', arguments: { 'a\0b': ['\udc00'] } }] },
    ];
    const session = { session_id: 'binary', summary: 'It printed \0.', messages };
    const { pointer } = await store(gateway, 'C', session);
    const kept = (await retrieve(gateway, 'C', pointer)).result.session_data;
    expect(kept.summary).toBe('It printed \ufffd.');
    expect(kept.messages.map(({ text }: { text: string }) => text)).toStrictEqual([
      'Run it \ufffd now.',
      'MZ\ufffd\ufffd printed',
    ]);
    const { storeSessionToCascade } = await gateway.query(
      'C',
      'mutation ($input: StoreSessionToCascadeInput!) { storeSessionToCascade(input: $input) { status } }',
      { input: { session: { ...session, session_id: 'binary by GraphQL' }, scope: 'developer', projectId: 'gears' } },
    );
    expect(storeSessionToCascade.status).toBe('inserted');
    const refused = await gateway.tool('C', 'store_session_to_cascade', { session, tags: ['a\0b'] });
    expect(refused.text).toMatch(/^INVALID_INPUT \(L9VAL\): tags: must not hold the character NUL/);
  });

  // The embedded engine keeps the memory that a session of 20 MB took, so it stores smaller ones here.
  it.each([
    100,
    10_000,
    1_000_000,
    serverUrl ? 20_000_000 : 4_000_000,
  ])('comes back to the last of %d bytes', async (bytes) => {
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

  it('is stored again after its archive has expired', async () => {
    const first = await store(gateway, 'L', sessionOf('gearbox'), inDeveloper);
    await expire(first);
    const second = await store(gateway, 'L', sessionOf('gearbox'), inDeveloper);
    expect(second.status).toBe('inserted');
    expect((await retrieve(gateway, 'L', second.pointer)).isError).toBe(false);
  });

  it('moves to another scope with its memory, unless the same session is archived there', async () => {
    const there = await store(gateway, 'L', sessionOf('sprocket'), inDeveloper);
    const moving = await store(gateway, 'L', sessionOf('sprocket'), { ...inDeveloper, scope: 'l-private' });
    const refused = await update(moving.packet_id, { scope: 'developer' });
    expect(refused.text).toMatch(/L9VAL.*scope: the same session is archived there already/);
    expect((await retrieve(gateway, 'C', moving.pointer)).isError, 'C opens what is in l-private').toBe(true);

    await expire(there);
    expect(await update(moving.packet_id, { scope: 'developer' })).toMatchObject({ isError: false });
    expect((await retrieve(gateway, 'C', moving.pointer)).isError, 'C opens what is in developer').toBe(false);
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

  it('is out of reach for C in l-private: by pointer, list, search, bytes, and by storing the same', async () => {
    const session = sessionOf('turbine');
    const { pointer } = await store(gateway, 'L', session, { scope: 'l-private' });
    const missing = `cascade://${'0'.repeat(64)}`;
    const hidden = await retrieve(gateway, 'C', pointer);
    expect(hidden.text).toBe((await retrieve(gateway, 'C', missing)).text);
    for (const args of [{ query: 'turbine' }, { tags: ['turbine'] }])
      expect((await gateway.call('C', 'query_cascade_memories', args)).sessions).toStrictEqual([]);
    const ofC = await store(gateway, 'C', session);
    expect(ofC.status).toBe('inserted');
    const [{ archive_id }] = await gateway.sql('L', 'select archive_id from session_archives where pointer = $1', [
      pointer,
    ]);
    const [bytes] = await gateway.sql('C', 'select archive.get_archive_blob($1) is null as none', [archive_id]);
    expect(bytes).toStrictEqual({ none: true });
    const restore = gateway.sql('C', 'select archive.restore_archive_blob($1, $2)', [archive_id, Buffer.alloc(60, 1)]);
    await expect(restore).rejects.toThrow('or it is not yours');
    const name = gateway.sql('C', "select archive.name_copies($1, '{file}')", [archive_id]);
    await expect(name).rejects.toThrow('or it is not yours');
    for (const table of ['public.archive_blobs', 'archive.wrapped_keys', 'archive.prepared_sessions'])
      await expect(gateway.sql('C', `select * from ${table}`)).rejects.toThrow('permission denied');
  });

  it('is found by its session, in a list and among the words of others, and leaves its access', async () => {
    const [one] = await Promise.all(['lathe', 'mill'].map((name) => store(gateway, 'C', sessionOf(name), inDeveloper)));
    await store(gateway, 'L', sessionOf('private lathe'), { ...inDeveloper, scope: 'l-private' });
    const found = async (caller: string, args: object) =>
      (await gateway.call(caller, 'query_cascade_memories', args)).sessions.map(
        ({ session_id }: { session_id: string }) => session_id,
      );
    for (const query of [undefined, 'repaired', ''])
      expect(await found('C', { query, session_id: 'session-lathe' }), query).toStrictEqual(['session-lathe']);
    expect(await found('C', { session_id: 'session-lathe', project_id: 'elsewhere' })).toStrictEqual([]);
    expect(await found('C', { session_id: 'session-private lathe' })).toStrictEqual([]);
    expect(await found('L', { session_id: 'session-private lathe' })).toHaveLength(1);
    expect(await found('C', { session_id: '', tags: ['lathe'] })).toStrictEqual(['session-lathe']);
    const accesses = await gateway.sql(
      'C',
      `select distinct a.target_type, a.session_id from memory_access_log a
       join session_archives s on s.archive_id = a.target_id where s.pointer = $1`,
      [one.pointer],
    );
    expect(accesses).toStrictEqual([{ target_type: 'archive', session_id: 'session-lathe' }]);
    const [{ schema_version }] = await gateway.sql('C', 'select schema_version from session_archives limit 1');
    expect(schema_version).toBe('1');
  });

  it('is stored in the narrowest scope that its writer may write, whatever rights others are given', async () => {
    const scopeOf = async (caller: string, name: string) => {
      const { packet_id } = await store(gateway, caller, sessionOf(name));
      return (await gateway.sql('L', 'select scope from packet_store where packet_id = $1', [packet_id]))[0].scope;
    };
    const register = (caller: string, scopes: string) =>
      gateway.sql('L', `select register_actor($1, readable_scopes => '${scopes}', writable_scopes => '${scopes}')`, [
        caller,
      ]);
    expect(await scopeOf('L', 'anvil')).toBe('l-private');
    expect(await scopeOf('C', 'awl')).toBe('developer');
    for (const [caller, scopes] of [
      ['one-scope', '{developer}'],
      ['other-scope', '{global}'],
      ['private', '{l-private}'],
      ['private-2', '{l-private,developer}'],
    ] as const) {
      await register(caller, scopes);
      expect(await scopeOf('C', `awl beside ${caller}`), caller).toBe('developer');
      expect(await scopeOf('L', `anvil beside ${caller}`), caller).toBe('l-private');
    }
    // A scope that the tenant adds is no default of who may not write it, and narrower than developer for who may.
    await gateway.sql('L', "select register_scope('builders')");
    expect(await scopeOf('C', 'awl beside a scope')).toBe('developer');
    await register('builder', '{builders,developer,global}');
    await gateway.sql(
      'builder',
      `select archive.prepare_session_archive('{"session_id": "of a builder"}', project_id => 'l9')`,
    );
    const prepared = "select scope from archive.prepared_sessions where caller = 'builder'";
    expect(await gateway.asSuperuser(prepared)).toStrictEqual([{ scope: 'builders' }]);
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

  it('is refused whole if it holds a secret, and nothing of it is stored', async () => {
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
  ])('is refused with the name of the field that is malformed: %j', async (session, expected) => {
    const { isError, text } = await gateway.tool('C', 'store_session_to_cascade', { session, project_id: 'l9' });
    expect(isError).toBe(true);
    expect(text).toMatch(/^INVALID_INPUT \(L9VAL\): session/);
    expect(text).toMatch(expected);
  });

  it('is listed and searched by the time when it ended, not when it was archived', async () => {
    const at = { timestamp: '2020-01-01T08:00:00Z', ended_at: '2020-01-01T09:00:00Z' };
    const { pointer } = await store(gateway, 'C', { ...sessionOf('sundial'), ...at });
    const before = await store(gateway, 'C', { ...sessionOf('hourglass'), ...at, ended_at: '2020-01-01T08:30:00Z' });
    const day = { since: '2020-01-01T08:30:00Z', until: '2020-01-01T09:00:01Z' };
    const found = async (args: object) =>
      (await gateway.call('C', 'query_cascade_memories', args)).sessions.map((one: { pointer: string }) => one.pointer);
    expect(await found(day)).toStrictEqual([pointer, before.pointer]);
    expect(await found({ ...day, until: at.ended_at })).toStrictEqual([before.pointer]);
    expect(await found({ ...day, query: 'sundial' })).toStrictEqual([pointer]);
    expect(await found({ ...day, query: 'sundial', until: at.ended_at })).toStrictEqual([]);
    const [{ happened_at: happenedAt }] = (await gateway.call('C', 'query_cascade_memories', day)).sessions;
    expect(new Date(happenedAt)).toStrictEqual(new Date(at.ended_at));
  });

  it.each(['path', 'session_id'])('is refused over HTTP with a %s beside it', async (field) => {
    const args = { session: sessionOf('pipe'), [field]: '/home/ann/session.jsonl', project_id: 'l9' };
    const { isError, text } = await gateway.tool('C', 'store_session_to_cascade', args);
    expect(isError).toBe(true);
    expect(text).toBe(`INVALID_INPUT (L9VAL): ${field}: give the session or its ${field}, not both`);
  });

  it('is refused over MCP and GraphQL with the bytes, the hash and the size of another one behind its row', async () => {
    const [one, two] = [await store(gateway, 'C', sessionOf('cog')), await store(gateway, 'C', sessionOf('sprocket'))];
    await gateway.inSuperuserSession(async (session) => {
      await session.query('set session_replication_role = replica');
      await session.query(
        `create temporary table swapped as
         select a.archive_id, b.content_hash, b.size from session_archives a, session_archives b
         where a.pointer in ($1, $2) and b.pointer in ($1, $2) and a.pointer <> b.pointer`,
        [one.pointer, two.pointer],
      );
      await session.query(
        'create temporary table moved as select s.archive_id, b.blob from swapped s join archive_blobs b using (content_hash)',
      );
      await session.query(
        'update archive_blobs b set content_hash = s.content_hash, blob = m.blob from swapped s join moved m using (archive_id) where b.archive_id = s.archive_id',
      );
      await session.query(
        'update session_archives a set content_hash = s.content_hash, size = s.size from swapped s where a.archive_id = s.archive_id',
      );
      await session.query('drop table swapped, moved; reset session_replication_role');
    });
    const tags = async () =>
      Number(/^l9_archive_problems_total\{problem="tag"\} (\d+)$/m.exec(await gateway.metrics())?.[1] ?? 0);
    const before = await tags();
    expect((await retrieve(gateway, 'C', one.pointer)).text).toMatch(
      /^INTEGRITY_ERROR \(L9INT\): pointer: its stored bytes do not open/,
    );
    const query = 'query ($pointer: String!) { retrieveSessionFromCascade(pointer: $pointer) { sessionData } }';
    const { data, errors } = await gateway.graphql('C', query, { pointer: two.pointer });
    expect(data?.retrieveSessionFromCascade ?? null).toBeNull();
    expect(errors![0]!.extensions).toMatchObject({ code: 'INTEGRITY_ERROR', sqlstate: 'L9INT' });
    expect(await tags()).toBe(before + 2);
    const rows = await gateway.asSuperuser(
      "select caller, sqlstate, details ->> 'problem' as problem from audit_log where operation = 'RETRIEVE' and status = 'error' and details ->> 'pointer' in ($1, $2)",
      [one.pointer, two.pointer],
    );
    const refused = { caller: 'C', sqlstate: 'L9INT', problem: 'tag' };
    expect(rows).toStrictEqual([refused, refused]);
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
        { pointer: one.pointer, problem: 'key', store: null, repaired: false },
        { pointer: two.pointer, problem: 'missing', store: null, repaired: false },
      ]),
    );
  });
});
