// What callers and operators get when the disk of the embedded engine has no room left.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { serverUrl } from '../../../db/tests/support/engine.ts';
import { describeOnEmbedded, itOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { makeCheckpoints } from '../../src/jobs/upkeep.ts';
import { runCommand } from '../support/command.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { createTestHome } from '../support/home.ts';
import { mountSmallDisk, type SmallDisk, whyNoSmallDisk } from '../support/small-disk.ts';
import { standIn } from '../support/stand-in.ts';

const skip = serverUrl ? 'concerns the folder of the embedded engine' : whyNoSmallDisk();

const memories = '{ memories(first: 100) { nodes { content } } }';
const save = 'mutation { saveMemory(input: { content: "never kept", scope: "global" }) { status } }';
const remove = 'mutation ($id: UUID!) { deleteMemory(input: { packetId: $id }) { status } }';

describe('a full disk', () => {
  // Whoever reads the results sees why the suites below are skipped; as root on a usual machine they must not be.
  itOnEmbedded('can be had in this test, or the machine does not let it mount a file system', () => {
    if (skip) expect(skip).toMatch(/no tmpfs can be mounted: .*(permi|must be superuser|not found|ENOENT)/i);
  });
});

(skip ? describe.skip : describe)(`a start without room${skip ? ` (${skip})` : ''}`, () => {
  let disk: SmallDisk;
  afterEach(() => disk.drop());

  it('says how much is missing where the database is to be made', async () => {
    disk = mountSmallDisk(40);
    const { code, err, out } = await runCommand(['start'], { home: join(disk.folder, 'home') });
    expect([code, out]).toStrictEqual([1, '']);
    expect(err).toMatch(/^l9-memory could not start: no space left in .*home: needs about \d+ MB\n$/);
  });

  it('says so where nothing at all can be written', async () => {
    disk = mountSmallDisk(8);
    disk.fill(0);
    const { code, err, out } = await runCommand(['start'], { home: join(disk.folder, 'home') });
    expect([code, out]).toStrictEqual([1, '']);
    expect(err).toMatch(/^l9-memory could not start: no space left /);
  });
});

(skip ? describe.skip : describe)(`the embedded engine on a full disk${skip ? ` (${skip})` : ''}`, () => {
  let disk: SmallDisk;
  let gateway: TestGateway;
  let kept: string;
  beforeAll(async () => {
    disk = mountSmallDisk(320);
    const { folder } = disk;
    const template = await createTestHome();
    spawnSync('cp', ['-a', join(template.home, 'data'), folder]);
    await template.drop();
    const home = { home: folder, env: { L9_MEMORY_HOME: folder }, superuserUrl: null, drop: async () => disk.drop() };
    gateway = await startTestGateway({ home, embedder: standIn });
    kept = await gateway.save('C', 'kept before the disk was full');
    await gateway.query('C', memories);
  });
  afterAll(() => gateway.close());
  afterEach(() => disk.clear());

  const ready = async () => {
    const response = await fetch(`${gateway.instance.url}/ready`);
    const { disk } = (await response.json()) as { disk: string };
    return [response.status, disk];
  };
  const refused = async (query: string, variables = {}, caller = 'C') => {
    const { status, errors } = await gateway.graphql(caller, query, variables);
    expect({ status, ...errors![0]!.extensions }).toMatchObject({ status: 507, code: 'DISK_FULL', sqlstate: 'L9DSK' });
    return errors![0]!.message;
  };
  const contents = async () =>
    (await gateway.query('C', memories)).memories.nodes.map(({ content }: { content: string }) => content);

  it('refuses saves by an error that says so, and still answers reads', async () => {
    disk.fill(50);
    const { isError, text } = await gateway.tool('C', 'save_memory', { content: 'never kept', scope: 'global' });
    expect(isError).toBe(true);
    expect(text).toMatch(
      /^DISK_FULL \(L9DSK\): no space left .*saves need 64 MB; reads still work.*Nothing was saved/s,
    );
    expect(await refused(save)).toMatch(/no space left on the disk/);
    await refused(remove, { id: kept });
    await refused('mutation { admin { createOrg(name: "Never made") { orgId } } }', {}, 'L');
    expect(await contents()).toStrictEqual(['kept before the disk was full']);
    const { hits } = await gateway.call('C', 'search_memory', { query: 'kept' });
    expect(hits[0].packet_id).toBe(kept);
    const [row] = await gateway.sql(
      'L',
      "select count(*)::int as n from public.audit_log where operation = 'SEARCH' and status = 'success'",
    );
    expect(row.n).toBe(1);
  });

  it('is not ready, and shows how much is free', async () => {
    expect(await ready()).toStrictEqual([200, 'ok']);
    disk.fill(50);
    expect(await ready()).toStrictEqual([503, 'full']);
    expect((await fetch(`${gateway.instance.url}/health`)).status).toBe(200);
    const metrics = await gateway.metrics();
    const free = Number(/^l9_disk_free_bytes (\d+)$/m.exec(metrics)?.[1]);
    expect(Math.round(free / 1024 / 1024)).toBe(50);
  });

  it('says why reads are refused once there is no room for their record', async () => {
    disk.fill(2);
    expect(await refused(memories)).toMatch(/no room for the record that each call leaves; needs 32 MB for reads/);
    expect(await refused(save)).toMatch(/64 MB for saves/);
    const { isError, text } = await gateway.tool('C', 'search_memory', { query: 'kept' });
    expect([isError, text.split(':')[0]]).toStrictEqual([true, 'DISK_FULL (L9DSK)']);
  });

  it('is as before once there is room', async () => {
    disk.fill(2);
    await refused(save);
    disk.clear();
    expect(await contents()).toStrictEqual(['kept before the disk was full']);
    await gateway.save('C', 'saved once there was room');
    expect(await ready()).toStrictEqual([200, 'ok']);
  });

  it('survives that the room ends in the middle of a write', async () => {
    disk.fill(34);
    // Work of its own is not refused, so this takes what is left.
    const fill = () =>
      gateway.instance.database.pool.query(
        "select pg_logical_emit_message(false, 'fill', repeat('x', 1000000)) from generate_series(1, 60)",
      );
    await expect(fill()).rejects.toMatchObject({ code: '53100' });
    expect(await refused(save)).toMatch(/no space left/);
    expect(await ready()).toStrictEqual([503, 'full']);
    disk.clear();
    expect(await contents()).toContain('kept before the disk was full');
    await gateway.save('C', 'saved after the engine ended');
    expect((await gateway.sql('L', 'select v.ok from public.verify_audit() v'))[0].ok).toBe(true);
  });
});

describeOnEmbedded('the write-ahead log of the embedded engine', () => {
  it('does not grow without end', async () => {
    const gateway = await startTestGateway({ embedder: standIn });
    try {
      const { workerPool } = gateway.instance.database;
      const files = () => readdirSync(join(gateway.home.home, 'data', 'pg_wal')).filter((name) => name.length === 24);
      for (let round = 0; round < 5; round++) {
        await workerPool.query(
          "select pg_logical_emit_message(false, 'x', repeat('x', 1000000)) from generate_series(1, 40)",
        );
        expect(await makeCheckpoints.isDue!(workerPool)).toBe(true);
        await makeCheckpoints.run(workerPool, undefined as never, new AbortController().signal);
        expect(await makeCheckpoints.isDue!(workerPool)).toBe(false);
      }
      expect(files().length).toBeLessThanOrEqual(6);
    } finally {
      await gateway.close();
    }
  });
});
