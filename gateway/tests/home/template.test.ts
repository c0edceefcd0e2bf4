// The first start on the embedded engine, which copies a database instead of creating one.
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { loadConfig } from '../../src/config.ts';
import { ensureTemplate, fillHome } from '../../src/server/template.ts';
import { startTestGateway } from '../support/gateway.ts';
import { createTestHome, type TestHome } from '../support/home.ts';
import { standIn } from '../support/stand-in.ts';

const logger = pino({ level: 'silent' });

describeOnEmbedded('the first start of a home folder', () => {
  let home: TestHome;
  beforeEach(async () => {
    home = await createTestHome();
    rmSync(join(home.home, 'data'), { recursive: true });
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
    mkdirSync(join(home.home, 'data'));
    await fillHome(loadConfig(home.env), logger);
    expect(readdirSync(join(home.home, 'data'))).toHaveLength(0);
  });
});
