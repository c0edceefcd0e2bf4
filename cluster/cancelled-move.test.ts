// A move that is given up: the database that the tenant was in serves it again, and the other one has nothing of it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestDatabase } from '../db/tests/support/test-database.ts';
import { moved, rowsOfTenant } from '../gateway/tests/commands/support/tenants.ts';
import {
  type Claims,
  endWaiting,
  goOn,
  isWaiting,
  moving,
  openMovingTenant,
  serves,
  stateIn,
  wait,
} from './support/moves.ts';

const folder = mkdtempSync(join(tmpdir(), 'l9-cancelled-move-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a move that is cancelled', () => {
  let databases: [TestDatabase, TestDatabase];
  let claims: Claims;
  let tenant: string;
  let saved = 20;
  beforeAll(async () => {
    ({ databases, claims } = await openMovingTenant());
    tenant = claims['jwt.claims.tenant_id'];
  });
  afterAll(async () => {
    for (const db of databases ?? []) await db.close();
  });

  /** Which tables of a database have rows of the tenant; its own audit log stays. */
  const left = async (db: TestDatabase): Promise<string[]> => {
    const rows = await rowsOfTenant(db, tenant);
    const [{ more }] = await db.asSuperuser(
      `select (select count(*) from transfer.imported_audit_log where tenant_id = $1)
         + (select count(*) from transfer.imported_audit_seals where tenant_id = $1)
         + (select count(*) from identity.active_actors where tenant_id = $1)
         + (select count(*) from identity.tenant_moves where tenant_id = $1) as more`,
      [tenant],
    );
    const tables = Object.keys(rows).filter((name) => rows[name]!.length > 0);
    return more === '0' ? tables : [...tables, 'logs, actors or moves'];
  };
  const save = (db: TestDatabase, content: string) =>
    db.sql('C', 'select public.save_memory($1, project_id => $2)', [content, 'l9'], claims);
  /** Ends with the tenant in the first database, whole and in use, and with nothing of it in the second. */
  const expectBack = async (before: Record<string, string[]>) => {
    const [source, target] = databases;
    expect([await serves(source, claims), await serves(target, claims)]).toStrictEqual([true, false]);
    expect([await stateIn(source, claims), await stateIn(target, claims)]).toStrictEqual([null, null]);
    expect(await left(target)).toStrictEqual([]);
    expect(await rowsOfTenant(source, tenant)).toStrictEqual(before);
    await save(source, `Note ${saved} was taken after the move was given up.`);
    saved += 1;
    for (const db of databases) {
      const [verified] = await db.asSuperuser('select v.ok, v.reason from public.verify_audit() v');
      expect(verified).toStrictEqual({ ok: true, reason: null });
    }
  };

  it.each([
    ['while rows are copied', 'copy', 1, null],
    ['while the tenant is stopped', 'arriving', 1, 'stopped'],
    ['when all rows have arrived', 'moved', 0, 'stopped'],
  ] as const)('%s is undone after its command was killed', async (_, step, place, state) => {
    const [source, target] = databases;
    const before = await rowsOfTenant(source, tenant);
    await wait(databases[place], step);
    const killed = moving(source, target, folder);
    await killed.until(() => isWaiting(databases[place]));
    await killed.kill();
    // Otherwise its last statement would be carried out when nothing keeps it waiting.
    await endWaiting(databases[place]);
    await goOn(databases[place], step);
    expect(await stateIn(source, claims)).toBe(state);

    const [code, said] = await moving(source, target, folder, ['--cancel']).end();
    expect([code, said]).toStrictEqual([0, expect.stringMatching(/serves acme/)]);
    await expectBack(before);
  });

  it.each([
    ['while rows are copied', 'copy'],
    ['while the tenant is stopped', 'arriving'],
  ] as const)('%s ends at once when its command is interrupted', async (_, step) => {
    const [source, target] = databases;
    const before = await rowsOfTenant(source, tenant);
    await wait(target, step);
    const interrupted = moving(source, target, folder);
    await interrupted.until(() => isWaiting(target));
    interrupted.child.kill('SIGINT');
    // The signal is seen when the statement that waits has ended.
    await goOn(target, step);
    const [code, said] = await interrupted.end();
    expect([code, said]).toStrictEqual([1, expect.stringMatching(/stopped: \S+ serves acme/)]);
    await expectBack(before);
  });

  it('can be made again, and is not undone once the other database owns the tenant', async () => {
    const [source, target] = databases;
    const before = await rowsOfTenant(source, tenant);
    expect(before['public.packet_store']).toHaveLength(saved);
    const { code, said } = await moved(source, target, {}, tenant);
    expect([code, said]).toStrictEqual([0, expect.stringMatching(/serves acme/)]);
    expect(await rowsOfTenant(target, tenant)).toStrictEqual(before);
    expect([await serves(source, claims), await serves(target, claims)]).toStrictEqual([false, true]);
    expect((await moved(source, target, { cancel: true }, tenant)).said).toMatch(/has moved from \S+ already/);
    expect(await serves(target, claims)).toBe(true);
  });
});
