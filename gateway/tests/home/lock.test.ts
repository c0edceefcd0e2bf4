import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { errorOf } from '../../../db/tests/support/errors.ts';
import { HomeLocked, lockHome, readHolder } from '../../src/home/lock.ts';

const module = join(import.meta.dirname, '..', '..', 'src', 'home', 'lock.ts');

describe('the lock of a home folder', () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'l9t-'));
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  /** Another process that holds the lock and has announced itself. */
  async function holder() {
    const script = `
      import { lockHome } from ${JSON.stringify(module)};
      const lock = await lockHome(${JSON.stringify(home)});
      lock.announce({ url: 'http://127.0.0.1:1', instance: 'one', onDemand: false });
      process.stdout.write('held');
      setInterval(() => lock, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let warnings = '';
    child.stderr.on('data', (data) => {
      warnings += data;
    });
    await Promise.race([once(child.stdout, 'data'), once(child, 'close')]);
    expect(warnings).not.toMatch(/SQLite is an experimental feature/);
    return child;
  }

  it('keeps a second process out, names the first, and is freed when that is killed', async () => {
    const first = await holder();
    try {
      const error = await errorOf(lockHome(home));
      expect(error).toBeInstanceOf(HomeLocked);
      expect(error.holder?.pid).toBe(first.pid);
      expect(error.message).toMatch(new RegExp(`process ${first.pid} serves it at http://127.0.0.1:1$`));
    } finally {
      first.kill('SIGKILL');
      await once(first, 'close');
    }
    expect(readHolder(home), 'the announcement of a dead process is ignored').toBeNull();
    (await lockHome(home)).release();
  });

  it('holds within one process, and survives a failed attempt to take it', async () => {
    const lock = await lockHome(home);
    await expect(lockHome(home)).rejects.toThrow(HomeLocked);
    await expect(lockHome(home)).rejects.toThrow(HomeLocked);
    lock.release();
    lock.release();
    (await lockHome(home)).release();
  });

  it('tells the address of its holder to the owner only, until it is released', async () => {
    const lock = await lockHome(home);
    expect(readHolder(home)).toBeNull();
    lock.announce({ url: 'http://127.0.0.1:2', instance: 'two', onDemand: true });
    expect(readHolder(home)?.url).toBe('http://127.0.0.1:2');
    for (const file of ['server.json', 'lock']) expect(statSync(join(home, file)).mode & 0o777, file).toBe(0o600);
    lock.release();
    expect(readHolder(home)).toBeNull();
  });

  it('distinguishes a folder that cannot be locked from one that is in use', async () => {
    mkdirSync(join(home, 'lock'));
    await expect(lockHome(home)).rejects.not.toBeInstanceOf(HomeLocked);
  });
});
