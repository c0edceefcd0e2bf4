// The audit log in an export: whose rows it holds, and what an import does with rows and seals that were altered.
import { sealAll } from '../audit/support.ts';
import { saveMemory } from '../support/memories.ts';
import { addTenant } from '../support/tenants.ts';
import { openTestDatabase, type TestDatabase, useTestDatabase } from '../support/test-database.ts';
import { exportAll, importAll, kindOf } from './support.ts';

type Row = Record<string, unknown>;

describe('the audit log of another database', () => {
  const db = useTestDatabase();
  let from: TestDatabase;
  let lines: string[];
  let head: unknown;
  const ofAudit = (all: string[]) => all.filter((line) => /^audit_/.test(kindOf(line)));
  beforeAll(async () => {
    from = await openTestDatabase();
    await saveMemory(from, 'C', { content: 'The mill stands by the river' });
    await sealAll(from);
    const other = await addTenant(from, 'other');
    await from.sql('L', "select public.save_memory('The other barn', project_id => 'l9')", [], other);
    await saveMemory(from, 'L', { content: 'The vault is heavy', scope: 'l-private' });
    await sealAll(from);
    ({ lines } = await exportAll(from, 'L', {}, 2, ['audit']));
    [{ hash: head }] = await from.sql('L', 'select (audit_head()).hash');
  });
  afterAll(() => from.close());

  const changed = (kind: string, change: (row: Row) => Row, which = 0) => {
    const target = ofAudit(lines)
      .filter((line) => kindOf(line) === kind)
      .at(which)!;
    return ofAudit(lines).map((line) =>
      line === target ? JSON.stringify({ [kind]: change(JSON.parse(line)[kind]) }) : line,
    );
  };
  const refused = (given: string[]) =>
    importAll(db, given).then(
      () => null,
      (error: Error) => error.message,
    );

  it('holds the rows of the tenant alone, in the order of the seals, and goes with the head of the chain', async () => {
    const rows = ofAudit(lines).flatMap((line) => JSON.parse(line).audit_row ?? []);
    const [{ ids }] = await from.sql(
      'L',
      "select array_agg(audit_id) as ids from audit_log where operation <> 'EXPORT'",
    );
    expect(rows.map(({ audit_id }) => audit_id).sort()).toStrictEqual([...ids].sort());
    const seals = ofAudit(lines).flatMap((line) => JSON.parse(line).audit_seal ?? []);
    expect(seals.map(({ seal_id }) => seal_id)).toStrictEqual(seals.map((_, place) => place + 1));
    expect(seals.at(-1).seal_hash).toBe(`\\x${head}`);
    // How much other tenants do is in no line.
    expect(seals.reduce((sum, { row_count }) => sum + row_count, 0)).toBe(rows.length);
    expect(
      (await exportAll(from, 'L', {}, 1000, ['audit'])).lines.filter((line) => ofAudit(lines).includes(line)),
    ).toStrictEqual(ofAudit(lines));
  });

  it('is for administrators, within the scopes of their claims', async () => {
    await expect(from.sql('C', "select public.export_memories('audit_row')")).rejects.toMatchObject({ code: 'L9SCP' });
    expect(JSON.stringify((await exportAll(from, 'C')).header)).not.toContain('audit');
    const [{ page }] = await from.sql('L', "select public.export_memories('audit_row') as page", [], {
      'jwt.claims.scopes': 'developer',
    });
    expect(page.count).toBeGreaterThan(0);
    expect(page.lines).not.toContain('l-private');
  });

  it.each([
    [
      'a row',
      () => changed('audit_row', (row) => ({ ...row, operation: 'READ' })),
      /^line 1: audit_row: is not the row/,
    ],
    [
      'the time of a row',
      () => changed('audit_row', (row) => ({ ...row, occurred_at: '2026-01-01T00:00:00+00:00' })),
      /^line 1: audit_row: is not the row/,
    ],
    [
      'a row that is gone',
      () => ofAudit(lines).slice(1),
      /^line \d+: audit_seal: the rows under seal 1 are not those that were sealed$/,
    ],
    [
      'a seal',
      () => changed('audit_seal', (row) => ({ ...row, sealed_at: '2026-01-01T00:00:00+00:00' })),
      /^line \d+: audit_seal: seal 1 was altered$/,
    ],
    [
      'a seal that is gone',
      () => ofAudit(lines).filter((line) => JSON.parse(line).audit_seal?.seal_id !== 1),
      /^line \d+: audit_seal: seal 2 does not match the one before it$/,
    ],
  ])('is refused with %s that was altered, by the number of the line', async (_, make, message) => {
    expect(await refused(make())).toMatch(message);
    await db.inSuperuserSession(async (session) => {
      // What was stored of it before the error.
      await session.query("set session_replication_role = 'replica'");
      await session.query('alter table transfer.imported_audit_log disable trigger all');
      await session.query('delete from transfer.imported_audit_log');
      await session.query('alter table transfer.imported_audit_log enable always trigger _200_append_only');
    });
  });

  it('stands beside the own log, which still verifies, and nobody changes it', async () => {
    const own = "select count(*)::int as count from public.audit_log where operation <> 'IMPORT'";
    const [before] = await db.asSuperuser(own);
    const answer = await importAll(db, ofAudit(lines));
    expect(answer).toStrictEqual({ stored: ofAudit(lines).length, present: 0, left_out: 0 });
    expect(await importAll(db, ofAudit(lines))).toStrictEqual({ stored: 0, present: answer.stored, left_out: 0 });
    expect(await db.asSuperuser(own)).toStrictEqual([before]);
    await sealAll(db);
    expect(await db.sql('L', 'select (verify_audit()).ok')).toStrictEqual([{ ok: true }]);
    const [{ callers }] = await db.sql(
      'L',
      "select array_agg(distinct details ->> 'caller' order by details ->> 'caller') as callers from transfer.imported_audit_log",
    );
    expect(callers).toStrictEqual(expect.arrayContaining(['C', 'L']));
    for (const statement of ['update', 'delete'])
      await expect(
        db.asSuperuser(
          statement === 'update'
            ? "update transfer.imported_audit_log set operation = 'READ'"
            : 'delete from transfer.imported_audit_seals',
        ),
      ).rejects.toThrow(/append-only/);
    await expect(db.sql('C', 'select * from transfer.imported_audit_log')).rejects.toMatchObject({ code: '42501' });
    expect(
      await db.sql('L', 'select * from transfer.imported_audit_log', [], await addTenant(db, 'third')),
    ).toStrictEqual([]);
  });

  it('is here already where it comes back to its own database', async () => {
    expect(await importAll(from, ofAudit(lines))).toStrictEqual({
      stored: 0,
      present: ofAudit(lines).length,
      left_out: 0,
    });
  });
});
