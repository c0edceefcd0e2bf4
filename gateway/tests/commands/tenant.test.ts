// A tenant that is exported, imported and moved: no row is forgotten, and one database alone serves it.
import { readFileSync, writeFileSync } from 'node:fs';
import { sealAll } from '../../../db/tests/audit/support.ts';
import { serveModel } from '../../../db/tests/support/embeddings.ts';
import { errorOf } from '../../../db/tests/support/errors.ts';
import { describeOnServer } from '../../../db/tests/support/on-engine.ts';
import { DEFAULT_TENANT } from '../../../db/tests/support/sessions.ts';
import { addOperator, addTenant } from '../../../db/tests/support/tenants.ts';
import { openTestDatabase, type TestDatabase, useTestDatabase } from '../../../db/tests/support/test-database.ts';
import { readFileOf, writeFileOf } from '../../src/commands/backup/file.ts';
import { TENANT_FILE, type TenantManifest } from '../../src/commands/tenant/file.ts';
import { ALWAYS_EMPTY, contentsOf, fillEveryTable, MODEL } from '../upgrade/fill.ts';
import { never, noKey, useFolder } from './support/backups.ts';
import { emptyOf, exported, imported, leftBehind, moved, rowsOfTenant, tablesIn } from './support/tenants.ts';

const inFolder = useFolder();

describe('the list of the tables of a tenant', () => {
  const db = useTestDatabase();

  it('has all tables but those that are left behind for a reason', async () => {
    const carried = (await tablesIn(db)).map(({ name }) => name);
    const listed = Object.keys(await contentsOf(db)).map((name) => (name.includes('.') ? name : `public.${name}`));
    expect([...carried, ...leftBehind].sort()).toStrictEqual(listed.sort());
  });
});

describeOnServer('a tenant of a server', () => {
  let from: TestDatabase;
  let copy: TestDatabase;
  let to: TestDatabase;
  let other: { 'jwt.claims.tenant_id': string };
  let rows: Record<string, string[]>;
  let hits: object[];
  const file = () => inFolder('acme.tenant');
  const search = (db: TestDatabase, caller: string, words: string) =>
    db.sql(caller, "select (h).content from public.search_memory($1, mode => 'lexical') s, unnest(s.hits) h", [words]);
  const stateIn = async (db: TestDatabase) =>
    (await db.asSuperuser('select state from identity.tenant_moves where tenant_id = $1', [DEFAULT_TENANT]))[0]
      ?.state ?? null;
  const problemIn = async (db: TestDatabase) =>
    (await db.asSuperuser('select transfer.carried_audit_problem($1) as problem', [DEFAULT_TENANT]))[0].problem;
  const verified = async (db: TestDatabase) =>
    (await db.asSuperuser('select v.ok, v.reason from public.verify_audit() v'))[0];

  beforeAll(async () => {
    [from, copy, to] = [await openTestDatabase(), await openTestDatabase(), await openTestDatabase()];
    await fillEveryTable(from);
    await from.sql(
      'L',
      'select public.register_memory_kind(\'recipe\', \'How to cook.\', \'[{"field": "dish", "type": "text"}]\')',
    );
    await from.sql('L', "select public.register_secret_pattern('acme-badge', 'badges', 'ACME-[0-9]{6}')");
    other = await addTenant(from, 'other');
    await from.sql('C', "select public.save_memory('The other tenant keeps this.', project_id => 'l9')", [], other);
    await sealAll(from);
    for (const db of [copy, to]) await emptyOf(db.superuserUrl!);
    rows = await rowsOfTenant(from);
  });
  afterAll(async () => {
    for (const db of [from, copy, to]) await db?.close();
  });

  it('has rows in every table that is carried, or the table is always empty', () => {
    const empty = Object.keys(rows).filter((name) => rows[name]!.length === 0);
    expect(empty.filter((name) => !ALWAYS_EMPTY.includes(name))).toStrictEqual([]);
  });

  it('is exported, and not over a file', async () => {
    hits = await search(from, 'C', 'deploy Monday');
    expect(hits.length).toBeGreaterThan(0);
    rows = await rowsOfTenant(from);
    const { code, said } = await exported(from, file());
    expect([code, said]).toStrictEqual([
      0,
      expect.stringMatching(/tenant default of .*, \d+ memories, \d+ rows, .* MB, not encrypted/),
    ]);
    expect((await exported(from, file())).said).toMatch(/there is a file of this name, which is never replaced/);
    expect((await exported(from, inFolder('none'), 'nobody')).said).toMatch(
      /nobody: .* has no tenant of this id, name or route/,
    );
  });

  it('is not imported where it is, where its model is missing, or from a file that was changed', async () => {
    const refused = async (path: string, db: TestDatabase, reason: RegExp) => {
      const { code, said } = await imported(path, db);
      expect([code, said]).toStrictEqual([1, expect.stringMatching(reason)]);
    };
    await refused(file(), from, /has this tenant already \(default\)/);
    await refused(file(), copy, /lacks the embedding model \S+ of \d+ dimensions/);
    for (const db of [copy, to]) {
      await serveModel(db, MODEL);
      await db.asWorker("select embeddings.begin_embedding_change('a-later-model', 8)");
    }
    const whole = readFileSync(file());
    const write = (name: string, bytes: Buffer) => {
      writeFileSync(inFolder(name), bytes);
      return inFolder(name);
    };
    await refused(
      write('cut', whole.subarray(0, -100)),
      copy,
      /is damaged: it is not what was written. Export the tenant again/,
    );
    const flipped = Buffer.from(whole);
    flipped[whole.length - 500]! ^= 1;
    await refused(write('flipped', flipped), copy, /is damaged/);
    await refused(
      write('later', Buffer.from(whole.toString('latin1').replace('tenant 1', 'tenant 2'), 'latin1')),
      copy,
      /is of version 2 of its format, and this program knows version 1/,
    );
    await refused(write('other', Buffer.from('l9-memory backup')), copy, /is not a file of an exported tenant/);
    // Whole files, whose rows or facts somebody changed.
    const { manifest, database } = await readFileOf(TENANT_FILE, file(), noKey);
    const edited = async (name: string, facts: Partial<TenantManifest>, edit = (text: string) => text) => {
      const parts: Buffer[] = [];
      for await (const part of database()) parts.push(part);
      const text = edit(Buffer.concat(parts).toString('latin1'));
      const rows = (async function* () {
        yield Buffer.from(text, 'latin1');
      })();
      await writeFileOf(TENANT_FILE, inFolder(name), {
        manifest: { ...manifest, ...facts },
        database: rows,
        encrypt: null,
        signal: never,
      });
      return inFolder(name);
    };
    await refused(
      await edited('row', {}, (text) => text.replace('The deploy of Monday', 'The deploy of Sunday')),
      copy,
      /the rows in the file are not what was written/,
    );
    await refused(
      await edited('section', {}, (text) => text.replace(/\{"name":"public\.tasks"[\s\S]*?\n\\\.\n.*\n/, '')),
      copy,
      /public\.tasks is not in it: nothing was imported/,
    );
    const { '000008': _, ...migrations } = manifest.migrations;
    await refused(
      await edited('migration', { migrations }),
      copy,
      /has not run migration 000008: bring both to the same version/,
    );
    expect(await copy.asSuperuser('select from public.tenants')).toStrictEqual([]);
  });

  it('is imported with each row of each table, and is found by words at once', async () => {
    const { code, said } = await imported(file(), copy);
    expect([code, said]).toStrictEqual([0, expect.stringMatching(/tenant default is in \S+: \d+ memories/)]);
    expect(await rowsOfTenant(copy)).toStrictEqual(rows);
    expect(await search(copy, 'C', 'deploy Monday')).toStrictEqual(hits);
    expect(await problemIn(copy)).toBeNull();
    const counted = 'select count(*)::integer as rows from';
    const [sealed] = await from.asSuperuser(
      `${counted} public.audit_log a where a.tenant_id = $1
      and exists (select from public.audit_seals s where a.audit_id = any (s.audit_ids))`,
      [DEFAULT_TENANT],
    );
    const [arrived] = await copy.asSuperuser(`${counted} transfer.imported_audit_log`);
    expect(arrived.rows).toBeGreaterThan(50);
    expect(arrived.rows).toBeLessThanOrEqual(sealed.rows);
    await sealAll(copy);
    expect(await verified(copy)).toStrictEqual({ ok: true, reason: null });
    // The log of accesses is not counted twice.
    expect(
      (
        await copy.asSuperuser(
          "select from importance.memory_access_log a, importance.access_roll_up r where a.xid < '3' and a.xid >= r.to_xid",
        )
      ).length,
    ).toBe(0);
    expect((await imported(file(), copy)).said).toMatch(/has this tenant already/);
  });

  it('is moved, and one database alone serves it', async () => {
    const directory = inFolder('cells.map');
    writeFileSync(directory, '# routes\nacme eu1\nother eu1\n', { mode: 0o640 });
    const operator = await addOperator(from, 'operator');
    await from.sql('operator', "select public.set_tenant_route($1, 'acme')", [DEFAULT_TENANT], operator);
    const before = await rowsOfTenant(from);
    const { code, said } = await moved(from, to, {
      directory,
      cell: 'eu2',
      reload: `cp ${directory} ${inFolder('loaded.map')}`,
    });
    expect([code, said]).toStrictEqual([
      0,
      expect.stringMatching(/default was stopped for \d+ ms[\s\S]*serves default[\s\S]*rows are removed/),
    ]);
    expect(await rowsOfTenant(to)).toStrictEqual(before);
    expect(readFileSync(inFolder('loaded.map'), 'utf8')).toBe('# routes\nacme eu2\nother eu1\n');
    expect([await stateIn(from), await stateIn(to)]).toStrictEqual(['moved', 'arrived']);
    expect(await search(to, 'C', 'deploy Monday')).toStrictEqual(hits);
    expect(await problemIn(to)).toBeNull();
    for (const db of [from, to]) {
      await sealAll(db);
      expect(await verified(db)).toStrictEqual({ ok: true, reason: null });
    }
  });

  it('is refused where it was, whoever calls, and tells nothing of others', async () => {
    const moving = /^this tenant has moved to another database: connect to its address again$/;
    for (const caller of ['C', 'L'])
      for (const query of [
        "select public.save_memory('x', project_id => 'l9')",
        'select * from public.packet_store',
        'select * from public.tenants',
        "select public.search_memory('deploy')",
        'select public.explain_access($1)',
      ]) {
        const error = await errorOf(from.sql(caller, query, query.includes('$1') ? [DEFAULT_TENANT] : []));
        if (query.includes('explain') && error.code === '42883') continue;
        expect([query, error.code, error.message]).toStrictEqual([query, 'L9BSY', expect.stringMatching(moving)]);
      }
    // Operators of other tenants change nothing of it.
    await from.asSuperuser(
      `insert into public.actors (tenant_id, caller, creator, source, agent, role, readable_scopes, writable_scopes)
       values ($1, 'ops', 'ops', 'operations', 'ops', 'l9_platform_admin', '{*}', '{*}')`,
      [other['jwt.claims.tenant_id']],
    );
    const ops = { role: 'l9_platform_admin', ...other };
    const error = await errorOf(from.sql('ops', 'select public.deactivate_tenant($1)', [DEFAULT_TENANT], ops));
    expect(error.code).toBe('L9BSY');
    // What is left of it: who may call, the logs, and no contents.
    const left = Object.entries(await rowsOfTenant(from)).filter(([, found]) => found.length > 0);
    expect(left.map(([name]) => name).sort()).toStrictEqual([
      'identity.api_key_hashes',
      'importance.memory_access_log',
      'public.actors',
      'public.api_keys',
      'public.orgs',
      'public.scopes',
      'public.tenants',
      'public.users',
    ]);
    const found = await from.sql(
      'C',
      "select (h).content from public.search_memory('keeps', mode => 'lexical') s, unnest(s.hits) h",
      [],
      other,
    );
    expect(found).toStrictEqual([{ content: 'The other tenant keeps this.' }]);
    for (const caller of ['C', 'L']) {
      const denied = await errorOf(from.sql(caller, 'select * from identity.tenant_moves', [], other));
      expect(denied.code).toBe('42501');
    }
  });

  it('is not touched when the command runs again, and can come back', async () => {
    const again = await moved(from, to);
    expect([again.code, again.said]).toStrictEqual([0, expect.stringMatching(/serves default/)]);
    expect((await moved(from, copy)).said).toMatch(/--to: \S+ is not where default has moved to/);
    expect((await moved(from, null, { cancel: true })).said).toMatch(
      /has moved from \S+ already: move it back from where it is/,
    );
    await to.sql('C', "select public.save_memory('Written in the other cell.', project_id => 'l9')");
    const there = await rowsOfTenant(to);
    const { code, said } = await moved(to, from);
    expect([code, said]).toStrictEqual([0, expect.stringMatching(/serves default/)]);
    expect([await stateIn(from), await stateIn(to)]).toStrictEqual(['arrived', 'moved']);
    expect(await rowsOfTenant(from)).toStrictEqual(there);
    expect(await search(from, 'C', 'cell')).toStrictEqual([{ content: 'Written in the other cell.' }]);
    expect(await problemIn(from)).toBeNull();
    await sealAll(from);
    expect(await verified(from)).toStrictEqual({ ok: true, reason: null });
  });
});
