// The first start on the embedded engine, which copies a database instead of creating one.
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { newFolder } from '../../../db/tests/support/databases.ts';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { loadConfig } from '../../src/config/config.ts';
import { ensureTemplate, fillHome, isWhole } from '../../src/server/template.ts';
import { startTestGateway } from '../support/gateway.ts';
import { PATIENT, type TestHome } from '../support/home.ts';
import { standIn } from '../support/stand-in.ts';
import { stampsOf } from '../support/tree.ts';

const logger = pino({ level: 'silent' });

describeOnEmbedded('the first start of a home folder', () => {
  let home: TestHome;
  beforeEach(() => {
    const folder = newFolder();
    home = {
      home: folder,
      env: { ...PATIENT, L9_MEMORY_HOME: folder },
      superuserUrl: null,
      drop: async () => rmSync(folder, { recursive: true, force: true }),
    };
  });
  afterEach(() => home.drop());

  it('copies the template, so that nothing is left to migrate', async () => {
    await ensureTemplate();
    const steps: string[] = [];
    const gateway = await startTestGateway({ home, embedder: standIn, onProgress: (step) => steps.push(step) });
    expect(steps).not.toContain('preparing the database');
    await gateway.save('C', 'saved in a copy');
    const ready = await (await fetch(`${gateway.instance.url}/ready`)).json();
    expect(ready).toMatchObject({ database: 'ok', migrations: 'ok' });
    await gateway.instance.close();
  });

  it('gives the copy to its owner only', async () => {
    await fillHome(loadConfig(home.env), logger);
    const data = join(home.home, 'data');
    expect(statSync(data).mode & 0o777).toBe(0o700);
    expect(statSync(join(data, 'base')).mode & 0o777).toBe(0o700);
    expect(statSync(join(data, 'PG_VERSION')).mode & 0o777).toBe(0o600);
  });

  it('starts over where an earlier copy was interrupted', async () => {
    mkdirSync(join(home.home, 'data.draft'));
    writeFileSync(join(home.home, 'data.draft', 'PG_VERSION'), 'half of a copy');
    await fillHome(loadConfig(home.env), logger);
    expect(readdirSync(home.home)).toContain('data');
    expect(existsSync(join(home.home, 'data.draft'))).toBe(false);
  });

  it('leaves a folder with data alone', async () => {
    await fillHome(loadConfig(home.env), logger);
    const before = stampsOf(home.home);
    await fillHome(loadConfig(home.env), logger);
    expect(stampsOf(home.home)).toStrictEqual(before);
  });

  it('refuses what is not whole, instead of filling it', async () => {
    mkdirSync(join(home.home, 'data', 'base'), { recursive: true });
    const before = stampsOf(home.home);
    await expect(fillHome(loadConfig(home.env), logger)).rejects.toThrow(/neither empty nor a whole database/);
    await expect(startTestGateway({ home, embedder: standIn })).rejects.toThrow(/neither empty nor a whole database/);
    expect(stampsOf(home.home)).toStrictEqual(before);
  });

  it('deletes no database that somebody named like its draft', async () => {
    await fillHome(loadConfig(home.env), logger);
    renameSync(join(home.home, 'data'), join(home.home, 'data.draft'));
    const before = stampsOf(home.home);
    await expect(fillHome(loadConfig(home.env), logger)).rejects.toThrow(/data\.draft is a whole database/);
    expect(stampsOf(home.home)).toStrictEqual(before);
  });

  it('fills an empty folder behind a link, where the disk is another one', async () => {
    mkdirSync(join(home.home, 'disk', 'lost+found'), { recursive: true });
    symlinkSync(join(home.home, 'disk'), join(home.home, 'data'));
    const gateway = await startTestGateway({ home, embedder: standIn });
    await gateway.save('C', 'saved behind a link');
    await gateway.instance.close();
    expect(readdirSync(join(home.home, 'disk'))).toEqual(expect.arrayContaining(['PG_VERSION', 'lost+found']));
    expect(readdirSync(home.home)).not.toContain('data.draft');
  });

  it('copies no template of which a part is missing', async () => {
    const template = (await ensureTemplate())!;
    const damaged = mkdtempSync(join(tmpdir(), 'l9t-'));
    const table = join(damaged, 'base', '5', '1255');
    cpSync(template, damaged, { recursive: true });
    expect(isWhole(damaged)).toBe(true);
    truncateSync(table, 8192);
    expect(isWhole(damaged)).toBe(false);
    rmSync(damaged, { recursive: true });
    expect(isWhole(damaged)).toBe(false);
  });

  it('needs no template: an installation goes on where Node crashes while it makes one', () => {
    const crash = "process.argv.includes('--in-this-process') && process.kill(process.pid, 'SIGKILL')";
    const args = [`--import=data:text/javascript,${crash}`, 'scripts/make-template.ts'];
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect(stderr).toMatch(/could not be made, the first start will do it: Node was ended by SIGKILL/);
    expect(status).toBe(0);
  });
});
