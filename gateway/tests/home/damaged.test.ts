// The real program on home folders that are not whole: it says so in one sentence, and changes nothing.
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { readHolder } from '../../src/home/lock.ts';
import { sessionOf } from '../archive/support.ts';
import { mountSmallDisk, whyNoSmallDisk } from '../support/small-disk.ts';
import { treeOf } from '../support/tree.ts';
import { DAMAGES, MARKER } from './damages.ts';
import { callTool, cli, createProcessHome, kill, main, type ProcessHome, type Running } from './processes.ts';

describeOnEmbedded('a home folder that was used', () => {
  const TEXT = 'The tide table hangs beside the harbour door.';
  let origin: ProcessHome;
  let folder: string;
  let home: string;
  let pointer: string;
  let oldKeys: { mcp_api_keys: Record<string, string>; archive_key: string };
  const pids: number[] = [];

  const copy = (from: string, to: string) =>
    // Node keeps compiled modules in the home folder of the user, which is this one here.
    cpSync(from, to, { recursive: true, filter: (path) => basename(path) !== '.cache' });
  const run = (args: string[], env: Record<string, string> = {}): Running => {
    const started = origin.run(args, { L9_MEMORY_HOME: home, ...env });
    pids.push(started.pid);
    return started;
  };
  const serve = async (env: Record<string, string> = {}) => {
    const server = run([main], env);
    const url = await eventually(() => {
      if (server.process.exitCode !== null) throw new Error(`the server ended: ${server.stdout}${server.stderr}`);
      const holder = readHolder(home);
      return holder?.pid === server.pid && holder.url;
    });
    return Object.assign(server, { url });
  };
  const end = async (server: Running) => {
    server.process.kill('SIGTERM');
    expect(await server.exit).toBe(0);
  };
  const contentsAt = async (url: string, key: string) => {
    const { hits } = await callTool(url, key, 'search_memory', { query: 'tide table', mode: 'lexical' });
    return hits.map(({ content }: { content: string }) => content);
  };
  const credentials = () => JSON.parse(readFileSync(join(home, 'credentials.json'), 'utf8'));

  async function expectRefusal(args: string[], path: string, cause: RegExp) {
    const before = treeOf(home);
    const started = run(args);
    expect(await started.exit).toBe(1);
    const { stdout, stderr } = started;
    expect(stdout).toBe('');
    // One line, which ends with the way out.
    expect(stderr).toMatch(/^[^\n]+: [^\n]+\n$/);
    expect(stderr).toContain(join(home, path));
    expect(stderr).toMatch(cause);
    expect(stderr).not.toMatch(/Aborted|RuntimeError|ASSERTIONS|\bat \S+:\d+/);
    for (const secret of Object.values(oldKeys.mcp_api_keys)) expect(stderr).not.toContain(secret);
    expect(treeOf(home)).toStrictEqual(before);
  }

  beforeAll(async () => {
    origin = await createProcessHome();
    folder = mkdtempSync(join(tmpdir(), 'l9t-'));
    home = origin.home;
    const server = await serve();
    oldKeys = credentials();
    const key = oldKeys.mcp_api_keys.C!;
    await callTool(server.url, key, 'save_memory', { content: TEXT, project_id: 'harbour' });
    await end(server);
  });
  beforeEach(() => {
    home = join(folder, 'home');
    copy(origin.home, home);
  });
  afterEach(() => {
    for (const pid of pids.splice(0)) kill(pid);
    rmSync(home, { recursive: true, force: true });
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true });
    await origin.close();
  });

  it.each(DAMAGES)('is refused in one sentence and left as it is if $what', async ({ damage, path, cause }) => {
    damage(home);
    await expectRefusal([main], path, cause);
  });

  it('is refused where nothing can be written', async () => {
    if (whyNoSmallDisk(folder)) return expect(whyNoSmallDisk(folder)).toMatch(/no tmpfs can be mounted/);
    const disk = mountSmallDisk(300, folder);
    try {
      copy(home, join(disk.folder, 'home'));
      rmSync(home, { recursive: true });
      home = join(disk.folder, 'home');
      disk.protect();
      await expectRefusal([main], '', /its file system is read-only/);
    } finally {
      disk.drop();
    }
  });

  it.each([
    ['db platform-admin', ['db', 'platform-admin', '--caller', 'ops']],
    ['reembed', ['reembed']],
    ['migrate-legacy', ['migrate-legacy', '--from', 'postgres://127.0.0.1:1/old']],
  ])('is left as it is by `%s` if it is damaged', async (_, args) => {
    rmSync(join(home, 'data', 'PG_VERSION'));
    await expectRefusal([cli, ...args], 'data', /without PG_VERSION/);
  });

  it('tells an editor why its server does not start', async () => {
    rmSync(join(home, 'data', 'PG_VERSION'));
    const data = treeOf(join(home, 'data'));
    const editor = run([cli, 'mcp', '--caller', 'C']);
    const initialize = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'e', version: '1' } };
    editor.process.stdin?.end(
      `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: initialize })}\n`,
    );
    await editor.exit;
    expect(JSON.parse(editor.stdout).error.message).toMatch(/without PG_VERSION: put a whole backup/);
    expect(treeOf(join(home, 'data'))).toStrictEqual(data);
  });

  it('opens with all that was saved if an older version left no marker, and gets one', async () => {
    rmSync(join(home, MARKER));
    const server = await serve();
    expect(await contentsAt(server.url, oldKeys.mcp_api_keys.C!)).toStrictEqual([TEXT]);
    const { version } = JSON.parse(readFileSync(join(home, MARKER), 'utf8'));
    expect(version).toBe(JSON.parse(readFileSync(join(origin.home, MARKER), 'utf8')).version);
    await end(server);
  });

  it('opens with all that was saved after kill -9, through a link, and beside files of others', async () => {
    renameSync(join(home, 'data'), join(home, 'elsewhere'));
    symlinkSync(join(home, 'elsewhere'), join(home, 'data'));
    writeFileSync(join(home, 'data', 'notes.txt'), 'mine');
    const first = await serve();
    kill(first.pid);
    await first.exit;
    const server = await serve();
    expect(await contentsAt(server.url, oldKeys.mcp_api_keys.C!)).toStrictEqual([TEXT]);
    await end(server);
    expect(readFileSync(join(home, 'data', 'notes.txt'), 'utf8')).toBe('mine');
  });

  it.each([
    'empty',
    'missing',
  ])('warns at the start and in /ready if data is %s beside its credentials', async (how) => {
    rmSync(join(home, 'data'), { recursive: true });
    if (how === 'empty') mkdirSync(join(home, 'data'));
    const server = await serve();
    const warning = /data was empty, beside credentials of an earlier start/;
    expect(server.stdout).toMatch(warning);
    const ready = await (await fetch(`${server.url}/ready`)).json();
    expect(ready).toMatchObject({ status: 'ready', warnings: [expect.stringMatching(warning)] });
    await end(server);
    const again = await serve();
    expect(again.stdout).toBe('');
    await end(again);
  });

  it('gets new keys if credentials.json is gone, and says so', async () => {
    rmSync(join(home, 'credentials.json'));
    const server = await serve();
    expect(server.stdout).toMatch(/new keys were made in [^"]*credentials\.json.*beside an existing database/);
    expect(await contentsAt(server.url, credentials().mcp_api_keys.C)).toStrictEqual([TEXT]);
    expect(credentials().archive_key).toMatch(/^[\w-]{43}$/);
    await end(server);
  });

  it('gets new keys from a command that needs one first, which leaves the archive key to the start', async () => {
    rmSync(join(home, 'credentials.json'));
    const token = run([cli, 'token', '--caller', 'C']);
    expect(await token.exit).toBe(0);
    expect(token.stderr).toMatch(/^l9-memory: warning: new keys were made in .*credentials\.json/);
    expect(credentials().archive_key).toBeNull();
    const server = await serve();
    expect(credentials().archive_key).toMatch(/^[\w-]{43}$/);
    await end(server);
  });

  describe('and has an archive', () => {
    const ASKED = /former archive key .*ARCHIVE_KEYS/;
    beforeAll(async () => {
      home = origin.home;
      const server = await serve();
      const archived = await callTool(server.url, oldKeys.mcp_api_keys.C!, 'store_session_to_cascade', {
        session: sessionOf('capstan'),
        project_id: 'harbour',
      });
      pointer = archived.pointer;
      await end(server);
    });

    it.each([
      ['a start', [main]],
      ['the command `token`', [cli, 'token', '--caller', 'C']],
    ])('asks for the former archive key before %s makes one, if credentials.json is gone', async (_, args) => {
      rmSync(join(home, 'credentials.json'));
      await expectRefusal(args, 'credentials.json', ASKED);
      expect(existsSync(join(home, 'credentials.json'))).toBe(false);
    });

    it('asks for it if credentials.json has other keys, but none for archives', async () => {
      writeFileSync(join(home, 'credentials.json'), JSON.stringify({ ...oldKeys, archive_key: null }));
      await expectRefusal([main], 'credentials.json', ASKED);
    });

    it('asks for it if only the database knows of the archive', async () => {
      rmSync(join(home, 'credentials.json'));
      rmSync(join(home, MARKER));
      const started = run([main]);
      expect(await started.exit).toBe(1);
      expect(started.stderr).toMatch(ASKED);
      expect(readdirSync(home)).not.toContain('credentials.json');
    });

    it('opens its archives with the former key, and with no other', async () => {
      rmSync(join(home, 'credentials.json'));
      const open = async (url: string) =>
        callTool(url, credentials().mcp_api_keys.C, 'retrieve_session_from_cascade', { pointer });
      const server = await serve({ ARCHIVE_KEYS: oldKeys.archive_key });
      expect((await open(server.url)).session_data.session_id).toBe('session-capstan');
      await end(server);
      expect(credentials().archive_key, 'it stays in the environment').toBeNull();
      await expectRefusal([main], 'credentials.json', ASKED);
      const other = await serve({ ARCHIVE_KEYS: `k9:${Buffer.alloc(32, 7).toString('base64')}` });
      expect(other.stdout).toMatch(/archives are encrypted with keys that are not given/);
      await expect(open(other.url)).rejects.toThrow(/KEY_ERROR/);
      await end(other);
    });
  });
});
