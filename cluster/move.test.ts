// A tenant moves between two databases: under load through two gateways, and with a command that is killed at each of its steps.
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../db/tests/support/eventually.ts';
import { addTenant } from '../db/tests/support/tenants.ts';
import { openTestDatabase, type TestDatabase } from '../db/tests/support/test-database.ts';
import { moved, rowsOfTenant } from '../gateway/tests/commands/support/tenants.ts';
import { spawnCommand } from '../gateway/tests/support/command.ts';
import { startTestGateway, type TestGateway } from '../gateway/tests/support/gateway.ts';
import { createTestHome, type TestHome } from '../gateway/tests/support/home.ts';
import { standIn } from '../gateway/tests/support/stand-in.ts';

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
  let claims: { 'jwt.claims.tenant_id': string };
  let tenant: string;

  beforeAll(async () => {
    databases = [await openTestDatabase(), await openTestDatabase()];
    claims = await addTenant(databases[0], 'acme');
    tenant = claims['jwt.claims.tenant_id'];
    await databases[0].asSuperuser("update public.tenants set route = 'acme' where tenant_id = $1", [tenant]);
    for (let n = 0; n < 20; n++)
      await databases[0].sql(
        'C',
        'select public.save_memory($1, project_id => $2)',
        [`Note ${n} of the tenant.`, 'l9'],
        claims,
      );
    // Steps of the command wait here, so that it can be killed in the middle.
    for (const db of databases)
      await db.asSuperuser(`
        create function public.wait_a_while() returns trigger language plpgsql as $$ begin
          if exists (select from test_waits.waits w where w.step = tg_argv[0]) then perform pg_sleep(3); end if;
          return coalesce(new, old); end $$;
        create schema test_waits; create table test_waits.waits (step text);
        create trigger _999_arrive before insert on public.packet_store for each row execute function public.wait_a_while('copy');
        alter table public.packet_store enable always trigger _999_arrive;
        create trigger _999_leave before delete on public.packet_store for each row execute function public.wait_a_while('remove');
        alter table public.packet_store enable always trigger _999_leave;
        create trigger _999_arriving before insert on identity.tenant_moves
          for each row when (new.state = 'arriving') execute function public.wait_a_while('arriving');
        create trigger _999_moved before update on identity.tenant_moves
          for each row when (new.state = 'moved') execute function public.wait_a_while('moved');
        create trigger _999_arrived before update on identity.tenant_moves
          for each row when (new.state = 'arrived') execute function public.wait_a_while('arrived')`);
  });
  afterAll(async () => {
    for (const db of databases ?? []) await db.close();
  });

  const stateIn = async (db: TestDatabase): Promise<string | null> =>
    (await db.asSuperuser('select state from identity.tenant_moves where tenant_id = $1', [tenant]))[0]?.state ?? null;
  const serves = (db: TestDatabase): Promise<boolean> =>
    db.sql('C', 'select identity.current_caller() as caller', [], claims).then(
      ([{ caller }]) => caller === 'C',
      (error) => {
        expect(error.code).toBe('L9BSY');
        return false;
      },
    );

  // Where each step waits, what both databases say then, and who serves once the command is gone.
  it.each([
    ['while rows are copied', 'copy', 'target', [null, 'arrived'], [null, 'moved'], 'source'],
    ['while the tenant is stopped', 'arriving', 'target', ['stopped'], [null, 'moved'], 'nobody'],
    ['when it has arrived', 'moved', 'source', ['stopped'], ['arriving'], 'nobody'],
    ['when the other database owns it', 'arrived', 'target', ['moved'], ['arriving'], 'nobody'],
    ['while the directory is read', 'reload', 'none', ['moved'], ['arrived'], 'target'],
    ['while rows are removed', 'remove', 'source', ['moved'], ['arrived'], 'target'],
  ] as const)('%s leaves one owner, and is finished when it runs again', async (_, step, place, here, there, server) => {
    const [source, target] = (await serves(databases[0]))
      ? databases
      : ([...databases].reverse() as [TestDatabase, TestDatabase]);
    const before = await rowsOfTenant(source, tenant);
    expect(before['public.packet_store']).toHaveLength(20);
    const map = join(folder, `${step}.map`);
    writeFileSync(map, 'acme from\n');
    if (place !== 'none')
      await (place === 'source' ? source : target).asSuperuser('insert into test_waits.waits values ($1)', [step]);

    const command = (reload: string) => {
      const args = ['tenant', 'move', 'acme', '--database', new URL(source.superuserUrl!).pathname.slice(1)];
      const env = { ROOT_DATABASE_URL: source.superuserUrl!, TARGET_DATABASE_URL: target.superuserUrl! };
      return spawnCommand([...args, '--directory', map, '--cell', 'to', '--reload', reload], { home: folder, env });
    };
    const child = command(step === 'reload' ? 'sleep 3' : 'true');
    let said = '';
    child.stderr.on('data', (part) => {
      said += part;
    });
    const isThere = () =>
      eventually(async () => {
        if (child.exitCode !== null) throw new Error(`the command ended: ${said}`);
        // At no moment do both serve.
        expect((await serves(target)) && (await serves(source))).toBe(false);
        const isWaiting =
          place === 'none'
            ? readFileSync(map, 'utf8') === 'acme to\n'
            : (
                await source.asSuperuser("select from pg_stat_activity where datname = $1 and wait_event = 'PgSleep'", [
                  new URL((place === 'source' ? source : target).superuserUrl!).pathname.slice(1),
                ])
              ).length > 0;
        return isWaiting;
      });
    await isThere();
    child.kill('SIGKILL');
    await once(child, 'close');
    expect([...here]).toContain(await stateIn(source));
    expect([...there]).toContain(await stateIn(target));
    expect([await serves(source), await serves(target)]).toStrictEqual([server === 'source', server === 'target']);
    for (const db of databases) await db.asSuperuser('delete from test_waits.waits');

    const again = command('true');
    said = '';
    again.stderr.on('data', (part) => {
      said += part;
    });
    const [code] = await once(again, 'close');
    expect([code, said]).toStrictEqual([0, expect.stringContaining('serves acme')]);
    expect([await serves(source), await serves(target)]).toStrictEqual([false, true]);
    expect(await rowsOfTenant(target, tenant)).toStrictEqual(before);
    expect((await rowsOfTenant(source, tenant))['public.packet_store']).toStrictEqual([]);
    expect(readFileSync(map, 'utf8')).toBe('acme to\n');
    for (const db of databases) {
      const [verified] = await db.asSuperuser('select v.ok, v.reason from public.verify_audit() v');
      expect(verified).toStrictEqual({ ok: true, reason: null });
    }
  });
});
