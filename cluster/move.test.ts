// A tenant moves between two databases: under load through two gateways, and with a command that is killed at each of its steps.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../db/tests/support/eventually.ts';
import { addTenant } from '../db/tests/support/tenants.ts';
import type { TestDatabase } from '../db/tests/support/test-database.ts';
import { moved, rowsOfTenant } from '../gateway/tests/commands/support/tenants.ts';
import { startTestGateway, type TestGateway } from '../gateway/tests/support/gateway.ts';
import { createTestHome, type TestHome } from '../gateway/tests/support/home.ts';
import { standIn } from '../gateway/tests/support/stand-in.ts';
import { type Claims, goOn, isWaiting, moving, openMovingTenant, serves, stateIn, wait } from './support/moves.ts';

const WRITERS = 4;
const SAVE =
  'mutation ($content: String!) { saveMemory(input: { content: $content, projectId: "l9" }) { status memory { packetId } } }';

const folder = mkdtempSync(join(tmpdir(), 'l9-move-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a tenant that moves under load', () => {
  let homes: TestHome[] = [];
  let gateways: TestGateway[] = [];
  const map = join(folder, 'cells.map');

  beforeAll(async () => {
    homes = [await createTestHome(), await createTestHome()];
    const env = { JWT_SECRET: 's'.repeat(40), RATE_LIMIT_STORE: 'process' };
    gateways = [];
    for (const home of homes)
      gateways.push(await startTestGateway({ embedder: standIn, env, home: { ...home, drop: async () => {} } }));
  });
  afterAll(async () => {
    for (const gateway of gateways) await gateway.close();
    for (const home of homes) await home.drop();
  });

  it('loses no acknowledged write, and is refused with 503 for a moment', async () => {
    const [here, there] = gateways as [TestGateway, TestGateway];
    const tenant = (await addTenant(here, 'acme'))['jwt.claims.tenant_id'];
    await here.asSuperuser("update public.tenants set route = 'acme' where tenant_id = $1", [tenant]);
    writeFileSync(map, 'acme eu1\n');
    const cells: Record<string, TestGateway> = { eu1: here, eu2: there };
    const token = await here.token({ caller: 'C', tenantId: tenant });
    const saved = new Map<string, string>();
    const refused: { status: number; retryAfter: string | null; code: string }[] = [];
    let isOver = false;
    const write = async (writer: number) => {
      for (let n = 0; !isOver; ) {
        // As a proxy does it.
        const gateway = cells[/^acme (\S+)$/m.exec(readFileSync(map, 'utf8'))![1]!]!;
        const content = `Writer ${writer} noted under number ${n} which colour the signal had.`;
        const response = await fetch(`${gateway.instance.url}/graphql`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
          body: JSON.stringify({ query: SAVE, variables: { content } }),
        });
        const { data, errors } = (await response.json()) as {
          data?: { saveMemory?: { memory: { packetId: string } } };
          errors?: { extensions: { sqlstate: string } }[];
        };
        if (response.status === 200 && data?.saveMemory) {
          saved.set(content, data.saveMemory.memory.packetId);
          n += 1;
        } else {
          const code = errors?.[0]?.extensions.sqlstate ?? '';
          refused.push({ status: response.status, retryAfter: response.headers.get('retry-after'), code });
          await sleep(50);
        }
      }
    };
    await eventually(
      async () => (await here.graphql({ token }, '{ memories(first: 1) { totalCount } }')).status === 200,
    );
    const writers = Array.from({ length: WRITERS }, (_, writer) => write(writer));
    await eventually(() => saved.size > 50);
    const { code, said } = await moved(here.home, there.home, { directory: map, cell: 'eu2' }, tenant);
    expect([code, said]).toStrictEqual([0, expect.stringMatching(/was stopped for \d+ ms/)]);
    const before = saved.size;
    await eventually(() => saved.size > before + 50);
    isOver = true;
    await Promise.all(writers);
    process.stdout.write(
      `${saved.size} writes were acknowledged, ${refused.length} refused; ${/acme was stopped for \d+ ms/.exec(said)![0]}\n`,
    );

    for (const one of refused)
      expect(one).toStrictEqual({ status: 503, retryAfter: expect.stringMatching(/^\d+$/), code: 'L9BSY' });
    const kept = await there.asSuperuser('select packet_id, content from public.packet_store where tenant_id = $1', [
      tenant,
    ]);
    expect(kept).toHaveLength(saved.size);
    expect(new Map(kept.map(({ content, packet_id }) => [content, packet_id]))).toStrictEqual(saved);
    expect(await here.asSuperuser('select from public.packet_store where tenant_id = $1', [tenant])).toStrictEqual([]);
    // Each write left its audit row, in the log that came along or in the one of its new place.
    const [audited] = await there.asSuperuser(
      `select count(distinct row_id)::integer as rows from (
         select a.row_id from transfer.imported_audit_log a where a.tenant_id = $1 and a.operation = 'INSERT' and a.table_name = 'packet_store'
         union all
         select a.row_id from public.audit_log a where a.tenant_id = $1 and a.operation = 'INSERT' and a.table_name = 'packet_store') a`,
      [tenant],
    );
    expect(audited.rows).toBe(saved.size);
    await there.embedded();
  });
});

describe('a move that is killed', () => {
  let databases: [TestDatabase, TestDatabase];
  let claims: Claims;
  beforeAll(async () => {
    ({ databases, claims } = await openMovingTenant());
  });
  afterAll(async () => {
    for (const db of databases ?? []) await db.close();
  });

  // Where each step waits, what both databases say then, and who serves once the command is gone.
  it.each([
    ['while rows are copied', 'copy', 'target', [null, 'arrived'], [null, 'moved'], 'source'],
    ['while the tenant is stopped', 'arriving', 'target', ['stopped'], [null, 'moved'], 'nobody'],
    ['when it has arrived', 'moved', 'source', ['stopped'], ['arriving'], 'nobody'],
    ['when the other database owns it', 'arrived', 'target', ['moved'], ['arriving'], 'nobody'],
    ['while the directory is read', 'reload', 'none', ['moved'], ['arrived'], 'target'],
    ['while rows are removed', 'remove', 'source', ['moved'], ['arrived'], 'target'],
  ] as const)('%s leaves one owner, and is finished when it runs again', async (_, step, place, here, there, server) => {
    const [source, target] = (await serves(databases[0], claims))
      ? databases
      : ([...databases].reverse() as [TestDatabase, TestDatabase]);
    const tenant = claims['jwt.claims.tenant_id'];
    const before = await rowsOfTenant(source, tenant);
    expect(before['public.packet_store']).toHaveLength(20);
    const map = join(folder, `${step}.map`);
    writeFileSync(map, 'acme from\n');
    const waiting = place === 'source' ? source : target;
    if (step !== 'reload') await wait(waiting, step);

    const command = (reload: string) =>
      moving(source, target, folder, ['--directory', map, '--cell', 'to', '--reload', reload]);
    const killed = command(step === 'reload' ? 'sleep 3' : 'true');
    await killed.until(async () => {
      // At no moment do both serve.
      expect((await serves(target, claims)) && (await serves(source, claims))).toBe(false);
      return step === 'reload' ? readFileSync(map, 'utf8') === 'acme to\n' : isWaiting(waiting);
    });
    await killed.kill();
    expect([...here]).toContain(await stateIn(source, claims));
    expect([...there]).toContain(await stateIn(target, claims));
    expect([await serves(source, claims), await serves(target, claims)]).toStrictEqual([
      server === 'source',
      server === 'target',
    ]);
    if (step !== 'reload') await goOn(waiting, step);

    const [code, said] = await command('true').end();
    expect([code, said]).toStrictEqual([0, expect.stringContaining('serves acme')]);
    expect([await serves(source, claims), await serves(target, claims)]).toStrictEqual([false, true]);
    expect(await rowsOfTenant(target, tenant)).toStrictEqual(before);
    expect((await rowsOfTenant(source, tenant))['public.packet_store']).toStrictEqual([]);
    expect(readFileSync(map, 'utf8')).toBe('acme to\n');
    for (const db of databases) {
      const [verified] = await db.asSuperuser('select v.ok, v.reason from public.verify_audit() v');
      expect(verified).toStrictEqual({ ok: true, reason: null });
    }
  });
});
