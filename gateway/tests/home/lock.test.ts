import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
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
      lock.announce({ url: 'http://127.0.0.1:1', onDemand: false });
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
    assert.doesNotMatch(warnings, /SQLite is an experimental feature/);
    return child;
  }

  it('keeps a second process out and names the first; the kernel frees it when that is killed', async () => {
    const first = await holder();
    try {
      await assert.rejects(lockHome(home), (error: HomeLocked) => {
        assert.ok(error instanceof HomeLocked);
        assert.equal(error.holder?.pid, first.pid);
        assert.match(error.message, new RegExp(`process ${first.pid} serves it at http://127.0.0.1:1$`));
        return true;
      });
    } finally {
      first.kill('SIGKILL');
      await once(first, 'close');
    }
    assert.equal(readHolder(home), null, 'what a dead process announced counts for nothing');
    (await lockHome(home)).release();
  });

  it('holds within one process too, and is not lost to a failed attempt', async () => {
    const lock = await lockHome(home);
    await assert.rejects(lockHome(home), HomeLocked);
    await assert.rejects(lockHome(home), HomeLocked);
    lock.release();
    lock.release();
    (await lockHome(home)).release();
  });

  it('tells where its holder is until it is released, to its owner alone', async () => {
    const lock = await lockHome(home);
    assert.equal(readHolder(home), null);
    lock.announce({ url: 'http://127.0.0.1:2', onDemand: true });
    assert.equal(readHolder(home)?.url, 'http://127.0.0.1:2');
    for (const file of ['server.json', 'lock']) assert.equal(statSync(join(home, file)).mode & 0o777, 0o600, file);
    lock.release();
    assert.equal(readHolder(home), null);
  });

  it('does not call a folder in use that can not be locked', async () => {
    mkdirSync(join(home, 'lock'));
    await assert.rejects(lockHome(home), (error: Error) => !(error instanceof HomeLocked));
  });
});
