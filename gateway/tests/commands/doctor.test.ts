// `l9-memory status`, `stop` and `doctor` on a home folder of their own, with a server that runs as a person would start it.
import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { findServer } from '../../src/home/find-server.ts';
import { runCommand } from '../support/command.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

const main = join(import.meta.dirname, '..', '..', 'src', 'main.ts');

interface Check {
  name: string;
  isWell: boolean | null;
  says: string;
}

const checksOf = (out: string) =>
  out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Check);
const named = (checks: Check[], name: string) => checks.filter((check) => check.name === name);

describe('l9-memory doctor, where no server runs', () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'l9-doctor-'));
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  it('says how to start one, as l9-memory alone does', async () => {
    const { code, out } = await runCommand([], { home });
    expect({ code, out: out.split('\n')[0] }).toStrictEqual({ code: 1, out: `No server runs on ${home}.` });
    expect(out).toContain('l9-memory start');
    const { out: examined } = await runCommand(['doctor', '--json'], { home });
    expect(named(checksOf(examined), 'server')).toMatchObject([{ isWell: null }]);
    expect(await runCommand(['stop'], { home })).toMatchObject({ code: 0, out: `No server runs on ${home}.\n` });
  });

  it('finds keys that other users can read, a port in use and a misspelt variable', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as { port: number };
    try {
      writeFileSync(join(home, 'credentials.json'), '{}');
      chmodSync(join(home, 'credentials.json'), 0o644);
      const env = { PORT: String(port), L9_MEMORY_HOM: home };
      const { code, out } = await runCommand(['doctor', '--json'], { home, env });
      expect(code).toBe(1);
      const wrong = checksOf(out).filter(({ isWell }) => isWell === false);
      expect(wrong.map(({ name }) => name).sort()).toStrictEqual(['home', 'keys', 'port', 'settings']);
      expect(named(wrong, 'keys')[0]!.says).toContain('chmod go=');
      expect(named(wrong, 'settings')[0]!.says).toContain('did you mean L9_MEMORY_HOME?');
    } finally {
      other.close();
    }
  });
});

describe('l9-memory doctor, where no server can start', () => {
  it.each([
    [
      'a database server is away',
      { DATABASE_URL: 'postgres://l9_gateway@127.0.0.1:1/l9' },
      'engine',
      /^DATABASE_URL: /,
    ],
    ['the keys are damaged', {}, 'home', /credentials\.json is not valid JSON/],
  ])('says so where %s', async (_case, env, name, says) => {
    const home = mkdtempSync(join(tmpdir(), 'l9-doctor-'));
    try {
      if (name === 'home') writeFileSync(join(home, 'credentials.json'), '{', { mode: 0o600 });
      const { code, out } = await runCommand(['doctor', '--json'], { home, env });
      const wrong = checksOf(out).filter(({ isWell }) => isWell === false);
      expect({ code, wrong }).toMatchObject({ code: 1, wrong: [{ name, says: expect.stringMatching(says) }] });
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  });
});

describe('l9-memory doctor, beside a server', () => {
  let gateway: TestGateway;
  const run = (...args: string[]) => runCommand(args, { home: gateway.home.home });
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
    const { url, id } = gateway.instance;
    writeFileSync(
      join(gateway.home.home, 'server.json'),
      JSON.stringify({ pid: process.pid, url, instance: id, startedAt: new Date().toISOString(), onDemand: false }),
    );
  });
  afterAll(() => gateway.close());

  it('saves a memory, finds it by every index, and leaves none behind', async () => {
    const { out } = await run('doctor', '--json');
    const checks = checksOf(out);
    for (const name of [
      'node',
      'server',
      'database',
      'migrations',
      'clock',
      'model',
      'indexes',
      'audit',
      'save',
      'words',
      'meaning',
      'find',
    ])
      expect(named(checks, name)).toMatchObject([{ isWell: true }]);
    const { out: left } = await run('list', '--project', 'l9-memory-doctor');
    expect(left).toBe('There are no memories in project l9-memory-doctor.\n');
  });

  it('says why a caller that does not exist is refused', async () => {
    const { code, out } = await run('doctor', '--json', '--caller', 'nobody');
    expect(code).toBe(1);
    expect(checksOf(out).filter(({ isWell }) => isWell === false)).toMatchObject([{ name: 'server' }]);
  });
});

describe('l9-memory status', () => {
  it('says what runs, how much it holds and what to do next', async () => {
    const gateway = await startTestGateway({ embedder: standIn });
    try {
      await gateway.save('C', 'A memory to count.');
      const args = ['status', '--url', gateway.instance.url];
      const { code, out } = await runCommand(args, { home: gateway.home.home });
      expect(code).toBe(0);
      expect(out).toMatch(/^state +(ready|degraded)$/m);
      expect(out).toMatch(/^memories +1 readable by me, /m);
      expect(out).toContain('l9-memory search');
    } finally {
      await gateway.close();
    }
  });
});

describe('l9-memory stop', () => {
  it('ends the server of the home folder, and returns when it has ended', async () => {
    const home = mkdtempSync(join(tmpdir(), 'l9-stop-'));
    try {
      const server = spawn(process.execPath, [main, '--on-demand'], {
        env: { ...process.env, L9_MEMORY_HOME: home },
        stdio: 'ignore',
      });
      const ended = new Promise((resolve) => server.once('exit', resolve));
      await eventually(() => findServer(home));
      expect(await runCommand(['stop'], { home })).toMatchObject({ code: 0, out: `stopped process ${server.pid}\n` });
      await ended;
      expect(await findServer(home)).toBeNull();
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  });
});
