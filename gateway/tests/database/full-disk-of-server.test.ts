// What callers and operators get when the disk of a PostgreSQL server has no room left: a tablespace on a small file system
// holds the memories, so that other databases of this server are not affected.
import { chownSync, existsSync, readlinkSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import pg from 'pg';
import { serverUrl } from '../../../db/tests/support/engine.ts';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { itOnServer } from '../../../db/tests/support/on-engine.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { mountSmallDisk, type SmallDisk, whyNoSmallDisk } from '../support/small-disk.ts';
import { standIn } from '../support/stand-in.ts';

/** The process of a server on this machine, whose file system may be another one than ours. */
async function serverProcess(): Promise<string | null> {
  const client = new pg.Client({ connectionString: serverUrl! });
  await client.connect();
  try {
    const { rows } = await client.query("select pg_backend_pid() as pid, current_setting('data_directory') as data");
    const process = `/proc/${rows[0].pid}`;
    const isHere = existsSync(`${process}/root`) && existsSync(`${process}/root${rows[0].data}/PG_VERSION`);
    return isHere ? readlinkSync(`${process}/root`) : null;
  } catch {
    return null;
  } finally {
    await client.end();
  }
}

const root = serverUrl ? await serverProcess() : null;
const temporary = join(root ?? '/', 'tmp');
const skip = !serverUrl
  ? 'needs a server: TEST_DATABASE_URL'
  : !root
    ? 'the files of the server are not on this machine, or not readable'
    : whyNoSmallDisk(temporary);

itOnServer('has a disk that this test can fill, or says why not', () => {
  if (skip)
    expect(skip).toMatch(/not on this machine|no tmpfs can be mounted: .*(permi|must be superuser|not found|ENOENT)/i);
});

(skip ? describe.skip : describe)(`a server on a full disk${skip ? ` (${skip})` : ''}`, () => {
  let disk: SmallDisk;
  let gateway: TestGateway;
  const tablespace = `l9_small_${process.pid}`;
  const outside = async (query: string) => {
    const client = new pg.Client({ connectionString: serverUrl! });
    await client.connect();
    await client.query(query).finally(() => client.end());
  };
  beforeAll(async () => {
    disk = mountSmallDisk(8, temporary);
    gateway = await startTestGateway({ embedder: standIn });
    const [{ data }] = await gateway.asSuperuser("select current_setting('data_directory') as data");
    const { uid, gid } = statSync(join(root!, data));
    chownSync(disk.folder, uid, gid);
    await outside(`create tablespace ${tablespace} location '/tmp/${basename(disk.folder)}'`);
    await gateway.asSuperuser(`alter table public.packet_store set tablespace ${tablespace}`);
  });
  afterAll(async () => {
    disk.clear();
    await gateway.close();
    await outside(`drop tablespace if exists ${tablespace}`);
    disk.drop();
  });

  // Text that does not compress, so that it needs pages of its own.
  const long = (name: string) =>
    `${name} ${Array.from({ length: 20_000 }, () => Math.random().toString(36).slice(2, 6)).join(' ')}`;
  const readiness = async () => {
    const response = await fetch(`${gateway.instance.url}/ready`);
    return [response.status, ((await response.json()) as { disk: string }).disk];
  };

  it('refuses saves by the code that the embedded engine gives, still answers reads, and is as before once there is room', async () => {
    const kept = await gateway.save('C', 'kept before the disk was full');
    expect(await readiness()).toStrictEqual([200, 'ok']);
    disk.fill(0);

    const { isError, text } = await gateway.tool('C', 'save_memory', { content: long('lost'), scope: 'global' });
    expect([isError, text]).toStrictEqual([
      true,
      expect.stringMatching(/^DISK_FULL \(L9DSK\): no space left on the disk of the database.*Nothing was saved/s),
    ]);
    const { status, errors } = await gateway.graphql(
      'C',
      'mutation ($content: String!) { saveMemory(input: { content: $content, scope: "global" }) { status } }',
      { content: long('lost too') },
    );
    expect([status, errors![0]!.extensions]).toMatchObject([507, { code: 'DISK_FULL', sqlstate: 'L9DSK' }]);
    expect(await readiness()).toStrictEqual([503, 'full']);

    const memories = '{ memories { nodes { packetId } } }';
    expect(await gateway.query('C', memories)).toStrictEqual({ memories: { nodes: [{ packetId: kept }] } });
    disk.clear();
    await gateway.save('C', long('saved'));
    await eventually(async () => (await readiness())[0] === 200);
    expect((await gateway.query('C', memories)).memories.nodes).toHaveLength(2);
  });
});
