import { saveMemory } from '../support/memories.ts';
import { addTenant } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { exportAll, kindOf } from './support.ts';

describe('export_memories', () => {
  const db = useTestDatabase();
  beforeAll(async () => {
    await db.sql('L', "select public.register_actor('Ann', creator => 'Ann', readable_scopes => '{developer}')");
    const open = await saveMemory(db, 'C', { content: 'The mill stands by the river' });
    const hidden = await saveMemory(db, 'L', { content: 'The vault is heavy', scope: 'l-private' });
    await db.sql('L', "select public.assert_fact('vault', 'weighs', '\"much\"', source_packet => $1)", [hidden]);
    await db.sql('L', "select public.relate('vault', 'stands near', 'mill', source_packet => $1)", [hidden]);
    await db.sql('L', "select public.add_alias('strongroom', 'vault', source_packet => $1)", [hidden]);
    await db.sql('L', "select public.reflect('A vault needs two keys', scope => 'l-private', project_id => 'l9')");
    await db.sql('L', 'select public.update_memory($1, content => $2)', [hidden, 'The vault is very heavy']);
    // It moves out of what agents read, and so does its history.
    const moved = await saveMemory(db, 'C', { content: 'The strongroom was open' });
    await db.sql('L', "select public.update_memory($1, content => 'The strongroom is shut')", [moved]);
    await db.sql('L', "update public.packet_store set scope = 'l-private' where packet_id = $1", [moved]);
    await db.sql('C', "select public.assert_fact('mill', 'stands by', '\"river\"', source_packet => $1)", [open]);
  });

  it('holds for an agent only what it reads, and counts nothing else', async () => {
    const { header, lines } = await exportAll(db, 'C');
    expect(lines.join('\n')).not.toMatch(/vault|strongroom|l-private/i);
    const counts = new Map<string, number>();
    for (const line of lines) counts.set(kindOf(line), (counts.get(kindOf(line)) ?? 0) + 1);
    for (const { kind, lines: counted } of header.counts.filter(({ option }: { option?: string }) => !option))
      expect([kind, counted]).toStrictEqual([kind, counts.get(kind) ?? 0]);
    expect([counts.get('memory'), counts.get('fact'), counts.get('version')]).toStrictEqual([1, 1, undefined]);
    expect(header.counts.map(({ kind }: { kind: string }) => kind)).not.toContain('org');
    expect(counts.get('actor')).toBe(1);
    expect((await exportAll(db, 'L')).lines.join('\n')).toMatch(/vault/);
  });

  it('holds nothing of another tenant, and of one project for a token of that project', async () => {
    const other = await exportAll(db, 'L', await addTenant(db, 'other'));
    expect(new Set(other.lines.map(kindOf))).toStrictEqual(new Set(['scope', 'actor']));
    const limited = await exportAll(db, 'C', { 'jwt.claims.projects': 'elsewhere' });
    expect(limited.lines.filter((line) => kindOf(line) === 'memory')).toStrictEqual([]);
  });

  it('gives the same lines in pages of any size', async () => {
    const whole = await exportAll(db);
    expect((await exportAll(db, 'L', {}, 1)).lines).toStrictEqual(whole.lines);
  });

  it('leaves what is saved while it runs to the next export', async () => {
    const [{ answer }] = await db.sql('L', 'select public.export_memories() as answer');
    const late = await saveMemory(db, 'C', { content: 'A late note' });
    await db.sql('C', "select public.assert_fact('note', 'comes', '\"late\"', source_packet => $1)", [late]);
    for (const kind of ['memory', 'fact']) {
      const [{ page }] = await db.sql('L', 'select public.export_memories($1, $2) as page', [kind, answer.as_of]);
      expect(page.lines).not.toContain(late);
      const [{ page: now }] = await db.sql('L', 'select public.export_memories($1) as page', [kind]);
      expect(now.lines).toContain(late);
    }
  });

  it('audits each page with its kind and the number of rows', async () => {
    await db.sql('C', "select public.export_memories('memory')");
    const rows = await db.sql(
      'L',
      "select caller, table_name, details ->> 'rows' as rows from public.audit_log where operation = 'EXPORT' order by audit_id desc limit 1",
    );
    expect(rows).toStrictEqual([{ caller: 'C', table_name: 'packet_store', rows: '2' }]);
  });

  it.each([
    ['an unknown kind', "'audit_log'", 'kind: no kind of lines has this name'],
    ['a page of no rows', "'memory', page_size => 0", 'page_size: from 1 to 5000'],
    ['a cursor of another kind', `'memory', after => '["x", 1]'`, 'after: must be the cursor of the previous page'],
    [
      'a cursor that is no id',
      `'memory', after => '["'' or true --"]'`,
      'after: must be the cursor of the previous page',
    ],
    ['what only administrators read', "'org'", 'kind: only administrators export this'],
  ])('refuses %s', async (_, args, message) => {
    await expect(db.sql('C', `select public.export_memories(${args})`)).rejects.toMatchObject({ message });
  });

  it('refuses a session without an identity', async () => {
    await expect(db.sql('nobody', 'select public.export_memories()')).rejects.toMatchObject({ code: 'L9AUT' });
  });
});
