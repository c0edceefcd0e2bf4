import { startTestGateway, type TestGateway } from '../../../gateway/tests/support/gateway.ts';

import { named } from '../support/named.ts';
import { itOnServer } from '../support/on-engine.ts';
import { addTenant } from '../support/tenants.ts';

describe('the history of a memory', () => {
  let gateway: TestGateway;
  let acme: Record<string, string>;
  beforeAll(async () => {
    gateway = await startTestGateway();
    acme = await addTenant(gateway, 'acme');
  });
  afterAll(() => gateway.close());

  let serial = 0;
  const save = async (caller: string, args: Record<string, unknown> = {}, claims = {}): Promise<string> => {
    const given = { content: `first words ${serial++}`, project_id: 'l9', ...args };
    const [row] = await gateway.sql(
      caller,
      `select (memory).packet_id as id from public.save_memory(${named(given)})`,
      Object.values(given),
      claims,
    );
    return row.id;
  };
  const update = (caller: string, id: string, args: Record<string, unknown>, claims = {}) =>
    gateway.sql(caller, `select public.update_memory($1, ${named(args, 2)})`, [id, ...Object.values(args)], claims);
  const history = (caller: string, id: string, claims = {}) =>
    gateway.sql(caller, 'select * from public.memory_history($1)', [id], claims);
  const versions = (caller: string, id: string, claims = {}) =>
    gateway.sql(caller, 'select * from public.packet_versions where packet_id = $1 order by version_id', [id], claims);

  it('says who changed what when, and with which tool, the newest first', async () => {
    const { result } = await gateway.tool('C', 'save_memory', { content: 'It is red.', project_id: 'l9', tags: ['a'] });
    const id = result.memory.packet_id;
    await gateway.tool('C', 'update_memory', { packet_id: id, content: 'It is green.' });
    await gateway.graphql(
      'L',
      'mutation ($id: UUID!) { updateMemory(input: { packetId: $id, kind: "decision", tags: ["a", "b"] }) { status } }',
      { id },
    );
    const rows = await history('C', id);
    expect(
      rows.map((row) => [
        row.version,
        row.creator,
        row.source,
        row.tool_name,
        row.changed_fields,
        row.content,
        row.state.kind,
      ]),
    ).toStrictEqual([
      [3, 'L-CTO', 'l9-kernel', 'updateMemory', ['creator', 'kind', 'tags'], 'It is green.', 'decision'],
      [2, 'Cursor-IDE', 'cursor-ide', 'update_memory', ['content'], 'It is green.', 'note'],
      [1, 'Cursor-IDE', 'cursor-ide', 'save_memory', [], 'It is red.', 'note'],
    ]);
    expect([rows[0].until, rows[0].version_id]).toStrictEqual([null, null]);
    expect(rows[1].until).toStrictEqual(rows[0].changed_at);
    expect(rows[2].until).toStrictEqual(rows[1].changed_at);
    const times = rows.map(({ changed_at }) => Number(changed_at));
    expect(times[2]).toBeLessThan(times[1]!);
    expect(times[1]).toBeLessThan(times[0]!);

    const [first, second] = await versions('C', id);
    expect([first.replaced_by, first.replaced_with]).toStrictEqual(['C', 'update_memory']);
    expect([second.replaced_by, second.replaced_with]).toStrictEqual(['L', 'updateMemory']);
    expect(second.metadata.creator).toBe('Cursor-IDE');
  });

  it('keeps everything that an update can change', async () => {
    const id = await save('L', {
      content: 'all of it',
      kind: 'decision',
      tags: ['t'],
      thread_id: 'thread',
      parent_ids: [await save('L')],
      ttl: '2099-01-01T00:00:00Z',
      importance: 0.25,
      metadata: { notes: { n: 1 } },
      envelope: { title: 'T' },
      routing: { r: 1 },
      provenance: { p: 1 },
      correlation_id: 'c',
      session_id: 's',
      trace_id: 'tr',
    });
    const columns = (
      await gateway.sql(
        'L',
        `select attname from pg_attribute where attrelid = 'public.packet_store'::regclass and attnum > 0
           and has_column_privilege('l9_admin', attrelid, attnum, 'update')`,
      )
    ).map(({ attname }) => attname);
    expect(columns.length).toBeGreaterThan(10);
    const [before] = await gateway.sql('L', `select ${columns} from public.packet_store where packet_id = $1`, [id]);
    await gateway.sql(
      'L',
      `update public.packet_store set envelope = '{"content": "nothing of it"}', packet_type = 'note', tags = '{}', thread_id = null,
         parent_ids = '{}', ttl = null, importance_score = 0.5, metadata = '{}', routing = '{}', provenance = '{}', scope = 'global',
         project_id = null, correlation_id = null, session_id = null, trace_id = null where packet_id = $1`,
      [id],
    );
    const [kept] = await gateway.sql('L', `select ${columns} from public.packet_versions where packet_id = $1`, [id]);
    expect(kept).toStrictEqual(before);
    const [now, first] = await history('L', id);
    expect(now.changed_fields).toStrictEqual([
      'content',
      'correlation_id',
      'envelope',
      'importance',
      'kind',
      'metadata',
      'parent_ids',
      'project_id',
      'provenance',
      'routing',
      'scope',
      'session_id',
      'tags',
      'thread_id',
      'trace_id',
      'ttl',
    ]);
    expect([first.content, first.state.envelope]).toStrictEqual(['all of it', { title: 'T' }]);
  });

  it('has no version for an update that changes nothing, nor for what jobs note down', async () => {
    const id = await save('C', { content: Array.from({ length: 400 }, (_, i) => `long sentence ${i}.`).join(' ') });
    await update('C', id, { tags: [] });
    await gateway.embedded();
    const [{ chunk_count }] = await gateway.sql(
      'C',
      'select chunk_count from public.packet_store where packet_id = $1',
      [id],
    );
    expect(chunk_count).toBeGreaterThan(0);
    expect(await versions('L', id)).toStrictEqual([]);
    // What comes after still begins where it began.
    await update('C', id, { tags: ['x'] });
    const [version] = await versions('L', id);
    const [{ timestamp }] = await gateway.sql('C', 'select "timestamp" from public.packet_store where packet_id = $1', [
      id,
    ]);
    expect(version.valid_from).toStrictEqual(timestamp);
  });

  it('keeps each of several changes in one transaction, and every row of a batch', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, () => save('C', { thread_id: 'batch' })));
    await gateway.asCaller('C', async (client) => {
      for (const n of [1, 2, 3]) {
        await client.query("update public.packet_store set importance_score = $1 where thread_id = 'batch'", [n / 10]);
      }
    });
    const rows = await gateway.sql(
      'C',
      'select packet_id, array_agg(importance_score::numeric order by version_id) as was from public.packet_versions where packet_id = any ($1) group by 1',
      [ids],
    );
    expect(rows).toHaveLength(20);
    for (const { was } of rows) expect(was.map(Number)).toStrictEqual([0.5, 0.1, 0.2]);
    const audited = await gateway.sql(
      'L',
      "select count(*)::int as n from public.audit_log where operation = 'UPDATE' and row_id = any ($1)",
      [ids],
    );
    expect(audited[0].n).toBe(60);
  });

  it('leaves a READ on the record', async () => {
    const id = await save('C');
    await history('C', id);
    const [row] = await gateway.sql(
      'L',
      'select * from public.audit_log where row_id = $1 order by audit_id desc limit 1',
      [id],
    );
    expect([row.operation, row.caller, row.scope, row.project_id]).toStrictEqual(['READ', 'C', 'developer', 'l9']);
  });

  it('is the same to C for a private memory and for one that is not there', async () => {
    const hidden = await save('L', { scope: 'l-private' });
    await update('L', hidden, { content: `still private ${serial++}` });
    const missing = '01900000-0000-7000-8000-000000000000';
    const say = async (id: string) => {
      const thrown = await history('C', id).then(
        () => null,
        (error: { code: string; message: string }) => `${error.code} ${error.message}`,
      );
      const { errors } = await gateway.graphql('C', 'query ($id: UUID!) { memoryHistory(packetId: $id) { version } }', {
        id,
      });
      return JSON.stringify([thrown, errors?.[0]?.message, errors?.[0]?.extensions]).replaceAll(id, '<id>');
    };
    expect(await say(hidden)).toMatch(/L9OWN.*NOT_YOURS/);
    expect(await say(hidden)).toBe(await say(missing));
    expect(await versions('C', hidden)).toStrictEqual([]);
    expect(
      (await gateway.sql('C', "select count(*)::int as n from public.packet_versions where scope = 'l-private'"))[0].n,
    ).toBe(0);
  });

  it('keeps from C what was said while the memory was private, and that there was anything to keep', async () => {
    const id = await save('L', { content: `began in private ${serial++}`, scope: 'l-private' });
    await update('L', id, { content: `shared at last ${serial++}`, scope: 'developer' });
    await update('L', id, { content: `shared, and changed ${serial++}` });
    await update('L', id, { content: `back in private ${serial++}`, scope: 'l-private' });
    expect(await versions('C', id), 'a memory that moved to l-private hides all it ever said').toStrictEqual([]);
    await expect(history('C', id)).rejects.toMatchObject({ code: 'L9OWN' });

    await update('L', id, { content: `shared again ${serial++}`, scope: 'developer' });
    const seen = await history('C', id);
    expect(seen.map((row) => [row.version, row.content.replace(/ \d+$/, ''), row.changed_fields])).toStrictEqual([
      [3, 'shared again', ['content']],
      [2, 'shared, and changed', ['content']],
      [1, 'shared at last', []],
    ]);
    // What made it so was done to a state that C may not see.
    expect(seen.map(({ tool_name }) => tool_name)).toStrictEqual([null, 'sql', null]);
    expect(JSON.stringify(seen)).not.toMatch(/private/);
    expect(JSON.stringify((await versions('C', id)).map(({ scope, content }) => [scope, content]))).not.toMatch(
      /private/,
    );
    expect((await history('L', id)).map(({ version }) => version)).toStrictEqual([5, 4, 3, 2, 1]);
    expect((await history('L', id, { 'jwt.claims.scopes': '["developer"]' })).length).toStrictEqual(3);
    const { data } = await gateway.graphql(
      'C',
      'query ($id: UUID!) { memoryByPacketId(packetId: $id) { versions { totalCount nodes { content scope replacedBy } } } }',
      { id },
    );
    expect(data.memoryByPacketId.versions.totalCount).toBe(2);
    expect(JSON.stringify(data)).not.toMatch(/private/);
  });

  it('is kept to the projects, orgs, users and tenant that a version was in', async () => {
    const moved = await save('L', { project_id: 'secret-project' });
    await update('L', moved, { project_id: 'l9' });
    const only = { 'jwt.claims.projects': '["l9"]' };
    expect(await versions('C', moved, only)).toStrictEqual([]);
    expect(await history('C', moved, only)).toHaveLength(1);
    expect(await history('C', moved)).toHaveLength(2);

    const user = { 'jwt.claims.user_id': '01900000-0000-7000-8000-0000000000aa' };
    const org = { 'jwt.claims.org_id': '01900000-0000-7000-8000-0000000000ab' };
    for (const claims of [user, org]) {
      const id = await save('C', {}, claims);
      await update('C', id, { tags: ['changed'] }, claims);
      expect(await versions('C', id, claims)).toHaveLength(1);
      expect(await versions('L', id), 'L sees those of every org and user').toHaveLength(1);
      expect(await versions('C', id)).toStrictEqual([]);
      expect(await versions('L', id, acme)).toStrictEqual([]);
      await expect(history('C', id)).rejects.toMatchObject({ code: 'L9OWN' });
      await expect(history('L', id, acme)).rejects.toMatchObject({ code: 'L9OWN' });
    }
  });

  it('goes when its memory expires, and is deleted with it', async () => {
    const id = await save('C');
    await update('C', id, { ttl: new Date(Date.now() + 400).toISOString() });
    expect(await versions('C', id)).toHaveLength(1);
    await new Promise((resolve) => setTimeout(resolve, 450));
    for (const caller of ['C', 'L']) expect(await versions(caller, id)).toStrictEqual([]);
    const count = () =>
      gateway.inSuperuserSession(
        async (client) =>
          (await client.query('select 1 from public.packet_versions where packet_id = $1', [id])).rowCount,
      );
    expect(await count()).toBe(1);
    await gateway.tool('L', 'delete_expired_memories');
    expect(await count()).toBe(0);
  });

  it('can be written by nobody', async () => {
    const id = await save('C');
    await update('C', id, { tags: ['x'] });
    for (const statement of [
      "update public.packet_versions set replaced_by = 'X'",
      'delete from public.packet_versions',
      'insert into public.packet_versions (packet_id) select packet_id from public.packet_store',
      'truncate public.packet_versions',
    ]) {
      for (const caller of ['C', 'L'])
        await expect(gateway.sql(caller, statement)).rejects.toMatchObject({ code: '42501' });
      await expect(gateway.instance.database.workerPool.query(statement)).rejects.toMatchObject({ code: '42501' });
    }
    expect(await versions('C', id)).toHaveLength(1);
  });

  it('gives as many states as are asked for, the newest', async () => {
    const id = await save('C');
    for (const n of [1, 2, 3, 4]) await update('C', id, { importance: n / 10 });
    const rows = await gateway.sql('C', 'select version from public.memory_history($1, 2)', [id]);
    expect(rows.map(({ version }) => version)).toStrictEqual([5, 4]);
    for (const bad of [0, 1001, null]) {
      await expect(gateway.sql('C', 'select public.memory_history($1, $2)', [id, bad])).rejects.toMatchObject({
        code: 'L9VAL',
      });
    }
    const { data } = await gateway.graphql(
      'C',
      'query ($id: UUID!) { memoryHistory(packetId: $id, first: 1) { version changedAt changedFields creator } }',
      { id },
    );
    expect(data.memoryHistory[0].version).toBe(5);
    expect(data.memoryHistory[0].changedFields).toStrictEqual(['importance']);
  });

  itOnServer('loses no version to concurrent changes', async () => {
    const id = await save('C');
    await Promise.all(Array.from({ length: 12 }, (_, n) => update('C', id, { importance: (n + 1) / 50 })));
    const rows = await history('C', id);
    expect(rows).toHaveLength(13);
    expect(new Set(rows.map(({ state }) => state.importance)).size).toBe(13);
    for (const [i, row] of rows.entries()) if (i > 0) expect(row.until).toStrictEqual(rows[i - 1].changed_at);
  });
});
