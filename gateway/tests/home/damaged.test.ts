// Home folders that are not whole: a start says so in one sentence, and changes nothing. Most are tried on the functions that the program
// calls, in this process; what the program makes of their sentences is tried on the program.
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
import { migrateLegacy } from '../../../tools/migrate-legacy/index.ts';
import { createLogger } from '../../src/base/logger.ts';
import { platformAdmin } from '../../src/commands/platform-admin.ts';
import { reembed } from '../../src/commands/reembed.ts';
import { token } from '../../src/commands/token.ts';
import { ConfigError, loadConfig } from '../../src/config/config.ts';
import { startGateway } from '../../src/gateway.ts';
import { takeHome } from '../../src/home/examine.ts';
import { readHolder } from '../../src/home/lock.ts';
import { sessionOf } from '../archive/support.ts';
import { mountSmallDisk, whyNoSmallDisk } from '../support/small-disk.ts';
import { standIn } from '../support/stand-in.ts';
import { restoreCopy, stampsOf } from '../support/tree.ts';
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
  /** The gateways that this test has open. */
  const opened: { end(): Promise<void> }[] = [];

  const copy = (from: string, to: string) =>
    // Node keeps compiled modules in the home folder of the user, which is this one here.
    cpSync(from, to, { recursive: true, filter: (path) => basename(path) !== '.cache' });
  const envOf = (env: Record<string, string> = {}) => ({ PORT: '0', LOG_LEVEL: 'warn', L9_MEMORY_HOME: home, ...env });
  /** A start as `serve` does it, in this process. */
  const open = async (env: Record<string, string> = {}) => {
    const config = loadConfig({ CLEANUP_INTERVAL_SECONDS: '0', ...envOf(env) });
    const lines: string[] = [];
    const server = { url: '', log: () => lines.join(''), end: async () => {} };
    const lock = await takeHome(config);
    try {
      const logger = createLogger('warn', { write: (line) => void lines.push(line) });
      const gateway = await startGateway(config, logger, { embedder: standIn, buildsSchemaOnDemand: true });
      opened.push(server);
      server.url = gateway.url;
      server.end = async () => {
        opened.splice(opened.indexOf(server), 1);
        await gateway.close();
        lock.release();
      };
      return server;
    } catch (error) {
      lock.release();
      throw error;
    }
  };
  const run = (args: string[]): Running => {
    const started = origin.run(args, { L9_MEMORY_HOME: home });
    pids.push(started.pid);
    return started;
  };
  const contentsAt = async (url: string, key: string) => {
    const { hits } = await callTool(url, key, 'search_memory', { query: 'tide table', mode: 'lexical' });
    return hits.map(({ content }: { content: string }) => content);
  };
  const credentials = () => JSON.parse(readFileSync(join(home, 'credentials.json'), 'utf8'));

  /** What this says on stderr and stdout, in this process. */
  async function said(work: () => Promise<unknown>): Promise<string> {
    let text = '';
    const streams = [process.stdout, process.stderr].map((stream) => ({ stream, write: stream.write }));
    for (const { stream } of streams) {
      stream.write = (part: string | Uint8Array) => {
        text += part;
        return true;
      };
    }
    try {
      await work();
    } finally {
      for (const { stream, write } of streams) stream.write = write;
    }
    return text;
  }

  /** The sentence with which this is refused: the message of an error that the program prints without anything else. */
  const refusalOf = async (work: () => Promise<unknown>): Promise<string> => {
    const error = await work().then(
      () => null,
      (failure: unknown) => failure,
    );
    expect(error).toBeInstanceOf(ConfigError);
    return `${(error as Error).message}\n`;
  };

  async function expectRefusal(refused: () => Promise<string>, path: string, cause: RegExp) {
    const before = stampsOf(home);
    const sentence = await refused();
    // One line, which ends with the way out.
    expect(sentence).toMatch(/^[^\n]+: [^\n]+\n$/);
    expect(sentence).toContain(join(home, path));
    expect(sentence).toMatch(cause);
    expect(sentence).not.toMatch(/Aborted|RuntimeError|ASSERTIONS|\bat \S+:\d+/);
    for (const secret of Object.values(oldKeys.mcp_api_keys)) expect(sentence).not.toContain(secret);
    expect(stampsOf(home)).toStrictEqual(before);
  }

  beforeAll(async () => {
    origin = await createProcessHome();
    folder = mkdtempSync(join(tmpdir(), 'l9t-'));
    home = origin.home;
    const server = await open();
    oldKeys = credentials();
    const key = oldKeys.mcp_api_keys.C!;
    await callTool(server.url, key, 'save_memory', { content: TEXT, project_id: 'harbour' });
    await server.end();
  });
  // A folder has some thousand files, of which a test changes few.
  let stamps: ReturnType<typeof stampsOf> | null = null;
  beforeEach(() => {
    home = join(folder, 'home');
    if (stamps === null) {
      rmSync(home, { recursive: true, force: true });
      copy(origin.home, home);
      stamps = stampsOf(home);
    } else stamps = restoreCopy(origin.home, home, stamps);
  });
  afterEach(async () => {
    for (const pid of pids.splice(0)) kill(pid);
    for (const server of [...opened]) await server.end();
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true });
    await origin.close();
  });

  it.each(DAMAGES)('is refused in one sentence and left as it is if $what', async ({ damage, path, cause }) => {
    damage(home);
    await expectRefusal(() => refusalOf(open), path, cause);
  });

  it('is refused where nothing can be written', async () => {
    if (whyNoSmallDisk(folder)) return expect(whyNoSmallDisk(folder)).toMatch(/no tmpfs can be mounted/);
    const disk = mountSmallDisk(300, folder);
    try {
      copy(home, join(disk.folder, 'home'));
      home = join(disk.folder, 'home');
      disk.protect();
      await expectRefusal(() => refusalOf(open), '', /its file system is read-only/);
    } finally {
      disk.drop();
    }
  });

  it('is refused by the program, which prints the sentence and ends with exit code 1', async () => {
    rmSync(join(home, 'data', 'PG_VERSION'));
    const program = async () => {
      const started = run([main]);
      expect(await started.exit).toBe(1);
      expect(started.stdout).toBe('');
      return started.stderr;
    };
    await expectRefusal(program, 'data', /without PG_VERSION/);
    expect(await program()).toBe(await refusalOf(open));
  });

  it.each([
    ['db platform-admin', () => platformAdmin(envOf(), { caller: 'ops' })],
    ['reembed', () => reembed(envOf(), {})],
    ['migrate-legacy', () => migrateLegacy(envOf(), { from: 'postgres://127.0.0.1:1/old', users: 'own' })],
  ])('is left as it is by `%s` if it is damaged', async (_, command) => {
    rmSync(join(home, 'data', 'PG_VERSION'));
    const refused = () => said(async () => expect(await command()).toBe(1));
    await expectRefusal(refused, 'data', /without PG_VERSION/);
  });

  it('tells an editor why its server does not start', async () => {
    rmSync(join(home, 'data', 'PG_VERSION'));
    const data = stampsOf(join(home, 'data'));
    const editor = run([cli, 'mcp', '--caller', 'C']);
    const initialize = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'e', version: '1' } };
    const call = { name: 'search_memory', arguments: { query: 'anything' } };
    for (const message of [
      { id: 1, method: 'initialize', params: initialize },
      { id: 2, method: 'tools/call', params: call },
    ])
      editor.process.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    editor.process.stdin?.end();
    await editor.exit;
    const answers = editor.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(answers.find(({ id }) => id === 2).error.message).toMatch(/without PG_VERSION: put a whole backup/);
    expect(stampsOf(join(home, 'data'))).toStrictEqual(data);
  });

  it('opens with all that was saved if an older version left no marker, and gets one', async () => {
    rmSync(join(home, MARKER));
    const server = await open();
    expect(await contentsAt(server.url, oldKeys.mcp_api_keys.C!)).toStrictEqual([TEXT]);
    const { version } = JSON.parse(readFileSync(join(home, MARKER), 'utf8'));
    expect(version).toBe(JSON.parse(readFileSync(join(origin.home, MARKER), 'utf8')).version);
  });

  it('opens with all that was saved after kill -9, through a link, and beside files of others', async () => {
    renameSync(join(home, 'data'), join(home, 'elsewhere'));
    symlinkSync(join(home, 'elsewhere'), join(home, 'data'));
    writeFileSync(join(home, 'data', 'notes.txt'), 'mine');
    const killed = run([main]);
    await eventually(() => {
      if (killed.process.exitCode !== null) throw new Error(`the server ended: ${killed.stdout}${killed.stderr}`);
      return readHolder(home)?.pid === killed.pid;
    });
    kill(killed.pid);
    await killed.exit;
    const server = await open();
    expect(await contentsAt(server.url, oldKeys.mcp_api_keys.C!)).toStrictEqual([TEXT]);
    await server.end();
    expect(readFileSync(join(home, 'data', 'notes.txt'), 'utf8')).toBe('mine');
  });

  it.each([
    'empty',
    'missing',
  ])('warns at the start and in /ready if data is %s beside its credentials', async (how) => {
    rmSync(join(home, 'data'), { recursive: true });
    if (how === 'empty') mkdirSync(join(home, 'data'));
    const server = await open();
    const warning = /data was empty, beside credentials of an earlier start/;
    expect(server.log()).toMatch(warning);
    const ready = await (await fetch(`${server.url}/ready`)).json();
    expect(ready).toMatchObject({ status: 'ready', warnings: [expect.stringMatching(warning)] });
    await server.end();
    const again = await open();
    expect(again.log()).toBe('');
  });

  it('gets new keys if credentials.json is gone, and says so', async () => {
    rmSync(join(home, 'credentials.json'));
    const server = await open();
    expect(server.log()).toMatch(/new keys were made in [^"]*credentials\.json.*beside an existing database/);
    expect(await contentsAt(server.url, credentials().mcp_api_keys.C)).toStrictEqual([TEXT]);
    expect(credentials().archive_key).toMatch(/^[\w-]{43}$/);
  });

  it('gets new keys from a command that needs one first, which leaves the archive key to the start', async () => {
    rmSync(join(home, 'credentials.json'));
    const text = await said(() => token(envOf(), { caller: 'C', expires: '1h' }));
    expect(text).toMatch(/^l9-memory: warning: new keys were made in .*credentials\.json/);
    expect(credentials().archive_key).toBeNull();
    await open();
    expect(credentials().archive_key).toMatch(/^[\w-]{43}$/);
  });

  describe('with an archive', () => {
    const ASKED = /former archive key .*ARCHIVE_KEY/;
    beforeAll(async () => {
      home = origin.home;
      const server = await open();
      const archived = await callTool(server.url, oldKeys.mcp_api_keys.C!, 'store_session_to_cascade', {
        session: sessionOf('capstan'),
        project_id: 'harbour',
      });
      pointer = archived.pointer;
      await server.end();
      stamps = null;
    });

    it.each([
      ['a start', open],
      ['the command `token`', () => token(envOf(), { caller: 'C', expires: '1h' })],
    ])('asks for the former archive key before %s makes one, if credentials.json is gone', async (_, work) => {
      rmSync(join(home, 'credentials.json'));
      await expectRefusal(() => refusalOf(work), 'credentials.json', ASKED);
      expect(existsSync(join(home, 'credentials.json'))).toBe(false);
    });

    it('asks for it if credentials.json has other keys, but none for archives', async () => {
      writeFileSync(join(home, 'credentials.json'), JSON.stringify({ ...oldKeys, archive_key: null }));
      await expectRefusal(() => refusalOf(open), 'credentials.json', ASKED);
    });

    it('asks for it if only the database knows of the archive', async () => {
      rmSync(join(home, 'credentials.json'));
      rmSync(join(home, MARKER));
      expect(await refusalOf(open)).toMatch(ASKED);
      expect(readdirSync(home)).not.toContain('credentials.json');
    });

    it('opens its archives with the former key, and with no other', async () => {
      rmSync(join(home, 'credentials.json'));
      const read = async (url: string) =>
        callTool(url, credentials().mcp_api_keys.C, 'retrieve_session_from_cascade', { pointer });
      const server = await open({ ARCHIVE_KEY: oldKeys.archive_key });
      expect((await read(server.url)).session_data.session_id).toBe('session-capstan');
      await server.end();
      expect(credentials().archive_key, 'it stays in the environment').toBeNull();
      await expectRefusal(() => refusalOf(open), 'credentials.json', ASKED);
      const other = await open({ ARCHIVE_KEY: `k9:${Buffer.alloc(32, 7).toString('base64')}` });
      expect(other.log()).toMatch(/archives are encrypted with keys that are not given/);
      await expect(read(other.url)).rejects.toThrow(/KEY_ERROR/);
    });
  });
});
