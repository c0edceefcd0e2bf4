import { saveMemory } from '../support/memories.ts';
import { addOperator, addTenant } from '../support/tenants.ts';
import { openTestDatabase, type TestDatabase, useTestDatabase } from '../support/test-database.ts';
import { exportAll, importAll, kindOf } from './support.ts';

type Row = Record<string, unknown>;

describe('import_memories', () => {
  const db = useTestDatabase();
  let from: TestDatabase;
  let lines: string[];
  let secret: string;
  beforeAll(async () => {
    from = await openTestDatabase();
    const mill = await saveMemory(from, 'C', { content: 'The mill stands by the river' });
    secret = await saveMemory(from, 'L', { content: 'Grain is weighed twice', scope: 'l-private' });
    await from.sql('C', 'select public.update_memory($1, content => $2)', [mill, 'The mill stands on the hill']);
    await from.sql('C', "select public.assert_fact('mill', 'stands on', '\"hill\"', source_packet => $1)", [mill]);
    ({ lines } = await exportAll(from));
  });
  afterAll(() => from.close());

  const take = (line: string | string[], caller = 'L', claims = {}) =>
    db.sql(caller, 'select public.import_memories($1, 7) as answer', [[line].flat().join('\n')], claims);
  const ofKind = (kind: string) => lines.filter((line) => kindOf(line) === kind);
  /** A line with some columns changed. */
  const changed = (line: string, change: (row: Row) => Row) => {
    const [[kind, row]] = Object.entries(JSON.parse(line)) as [[string, Row]];
    return JSON.stringify({ [kind]: change(row) });
  };
  const memory = (change: Row = {}) => changed(ofKind('memory')[0]!, (row) => ({ ...row, ...change }));
  const count = async () => Number((await db.asSuperuser('select count(*) from public.packet_store'))[0].count);

  it('refuses agents, operators, limited administrators and sessions without an identity', async () => {
    await expect(take(memory(), 'C')).rejects.toMatchObject({ code: '42501' });
    await expect(take(memory(), 'Op', await addOperator(db, 'Op'))).rejects.toMatchObject({ code: '42501' });
    await expect(take(memory(), 'L', { 'jwt.claims.projects': 'l9' })).rejects.toMatchObject({ code: 'L9SCP' });
    await expect(take(memory(), 'L', { 'jwt.claims.scopes': 'developer' })).rejects.toMatchObject({ code: 'L9SCP' });
    await expect(take(memory(), 'nobody', { role: 'l9_admin' })).rejects.toMatchObject({ code: 'L9AUT' });
    await expect(db.sql('C', "select transfer.store_rows('memory', '[]')")).rejects.toMatchObject({ code: '42501' });
    expect(await count()).toBe(0);
  });

  it.each([
    ['no JSON', '{"memory": ', 'line 7: is no JSON that can be stored'],
    ['another kind', '{"audit_log": {}}', 'line 7: must hold a row of a known kind'],
    ['two kinds in one line', '{"memory": {}, "fact": {}}', 'line 7: must be an object with one key, its kind'],
    ['an unknown column', () => memory({ hush: 'hush' }), 'line 7: memory: has a key that is no column of it'],
    ['a computed column', () => memory({ words: "'hush':1" }), 'line 7: memory: has a key that is no column of it'],
    ['no id', () => changed(memory(), ({ packet_id, ...row }) => row), 'line 7: memory: lacks packet_id'],
    [
      'a value of another type',
      () => memory({ packet_id: 'hush' }),
      'line 7: memory: has a value that does not fit its column',
    ],
    ['a broken rule', () => memory({ importance_score: 7 }), 'line 7: importance: must be from 0 to 1'],
    [
      'an unknown scope',
      () => memory({ scope: 'hush' }),
      'line 7: memory: breaks the rule packet_store_tenant_id_scope_fkey',
    ],
    [
      'a time to come',
      () => memory({ created_at: '2199-01-01T00:00:00+00:00' }),
      'line 7: created_at: lies in the future',
    ],
    [
      'a secret',
      () => memory({ envelope: { content: `AKIA${'Q4RT7YZ2'.repeat(2)}` } }),
      'line 7: content: has what looks like a secret',
    ],
    ['another format', '{"format":"hush","version":1}', 'line 7: format: must be l9-memory'],
    [
      'another version',
      '{"format":"l9-memory","version":2}',
      'line 7: version: this database reads version 1 of the format',
    ],
  ])('refuses %s with the number of the line, without values', async (_, line, message) => {
    const error = await take(typeof line === 'string' ? line : line()).then(
      () => null,
      (caught: Error) => caught,
    );
    expect(error?.message).toContain(message);
    expect(JSON.stringify(error)).not.toContain('hush');
    expect(await count()).toBe(0);
  });

  it('refuses rows and headers of another tenant, and writes into no other tenant', async () => {
    const other = await addTenant(db, 'other');
    const id = other['jwt.claims.tenant_id'];
    await expect(take(memory({ tenant_id: id }))).rejects.toMatchObject({
      code: 'L9SCP',
      message: 'line 7: memory.tenant_id: not your tenant',
    });
    await expect(take(`{"format":"l9-memory","version":1,"tenant_id":"${id}"}`)).rejects.toMatchObject({
      code: 'L9SCP',
    });
    // The key of a row that is another tenant's tells nothing of it, and leaves it as it is.
    await importAll(db, ofKind('memory'), 'L', other);
    await expect(take(ofKind('memory')[0]!)).rejects.toMatchObject({
      message: 'line 7: memory: another row has the same identity (packet_store_pkey)',
    });
    expect(await db.asSuperuser('select distinct tenant_id from public.packet_store')).toStrictEqual([
      { tenant_id: id },
    ]);
    await db.asSuperuser('delete from public.packet_store');
  });

  it('keeps a batch whole: one bad line leaves nothing of it', async () => {
    const [first, second] = ofKind('memory');
    await expect(take([first!, changed(second!, (row) => ({ ...row, importance_score: 7 }))])).rejects.toMatchObject({
      code: 'L9VAL',
      message: 'line 8: importance: must be from 0 to 1',
    });
    expect(await count()).toBe(0);
  });

  it('audits an import and its rows, and leaves triggers and policies as they were', async () => {
    const states = () =>
      db.asSuperuser(
        "select tgrelid::regclass::text, tgname, tgenabled from pg_trigger where tgenabled <> 'O' order by 1, 2",
      );
    const before = await states();
    await importAll(db, lines);
    expect(await states()).toStrictEqual(before);
    expect(await db.asSuperuser('select * from transfer.imports_under_way')).toStrictEqual([]);
    const [row] = await db.sql(
      'L',
      "select caller, details ->> 'rows' as rows from public.audit_log where operation = 'IMPORT' and table_name = 'packet_store'",
    );
    expect(row).toStrictEqual({ caller: 'L', rows: '2' });
    const [{ rows }] = await db.sql(
      'L',
      "select count(*)::int as rows from public.audit_log where operation = 'INSERT' and row_id = $1",
      [secret],
    );
    expect(rows).toBe(1);
    // A save afterwards is stamped as always.
    const saved = await saveMemory(db, 'C', { content: 'After the import' });
    const [{ creator }] = await db.sql(
      'C',
      "select metadata ->> 'creator' as creator from packet_store where packet_id = $1",
      [saved],
    );
    expect(creator).toBe('Cursor-IDE');
    // Words and the queue of embeddings are made again.
    const found = await db.sql('C', "select public.search_memory('mill hill', mode => 'lexical') as answer");
    expect(JSON.stringify(found)).toContain('on the hill');
  });

  it('names a row that is there with other contents, and does not change it', async () => {
    await expect(take(memory({ tags: ['other'] }))).rejects.toMatchObject({
      code: 'L9VAL',
      message: 'line 7: memory.tags: differs from what is stored under this id',
    });
    const [scope] = ofKind('scope');
    await expect(take(changed(scope!, (row) => ({ ...row, description: 'other' })))).rejects.toMatchObject({
      message: 'line 7: scope: differs from what is here, and there are memories here already',
    });
  });

  it('grants nothing that the administrator could not grant', async () => {
    const actor = (change: Row) =>
      changed(ofKind('actor').find((line) => line.includes('"Cursor-IDE"'))!, (row) => ({ ...row, ...change }));
    await expect(take(actor({ caller: 'Eve', creator: 'Eve', role: 'l9_platform_admin' }))).rejects.toMatchObject({
      code: 'L9SCP',
    });
    const own = ofKind('actor').find((line) => line.includes('"L-CTO"'))!;
    await expect(take(changed(own, (row) => ({ ...row, reads_per_minute: 7 })))).rejects.toMatchObject({
      code: 'L9SCP',
    });
  });

  it('refuses derived rows for others than the readers of their memory', async () => {
    const fact = ofKind('fact')[0]!;
    const id = '00000000-0000-7000-8000-00000000000f';
    const [evidence] = JSON.parse(fact).fact.evidence as Row[];
    const moved = changed(fact, (row) => ({
      ...row,
      fact_id: id,
      scope: 'l-private',
      evidence: [{ ...evidence, evidence_id: id, fact_id: id, scope: 'l-private' }],
    }));
    await expect(take(moved)).rejects.toMatchObject({
      message: 'line 7: source_packet: must be a memory of the same owner, scope and project',
    });
    const version = changed(ofKind('version')[0]!, (row) => ({ ...row, version_id: id, user_id: id }));
    await expect(take(version)).rejects.toMatchObject({
      message: 'line 7: packet_id: must be a memory of the same owner, scope and project',
    });
  });

  it('leaves counts of use as they are, and what a job has made already', async () => {
    const id = JSON.parse(ofKind('fact')[0]!).fact.fact_id;
    await db.asSuperuser('update public.knowledge_facts set access_count = 7 where fact_id = $1', [id]);
    const [{ answer }] = await take(ofKind('fact'));
    expect(answer).toStrictEqual({ stored: 0, present: 1, left_out: 0 });
  });

  it('leaves out what was erased here, with what rests on it', async () => {
    await db.sql('L', "select public.erase_memory($1, 'asked to')", [secret]);
    const line = ofKind('memory').find((one) => one.includes(secret))!;
    const [{ answer }] = await take(line);
    expect(answer).toStrictEqual({ stored: 0, present: 0, left_out: 1 });
    const rows = JSON.stringify([JSON.parse(line).memory]);
    await expect(db.sql('L', "select transfer.store_rows('memory', $1::jsonb)", [rows])).rejects.toMatchObject({
      message: 'packet_id: this memory was erased here',
    });
  });
});
