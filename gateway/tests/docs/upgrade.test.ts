// The backups of docs/how-to/upgrade.md: what is made of them is the whole memory again.
import { execFile } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { describeOnEmbedded, describeOnServer } from '../../../db/tests/support/on-engine.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { createTestHome, type TestHome } from '../support/home.ts';
import { findClient } from '../support/pg-clients.ts';
import { standIn } from '../support/stand-in.ts';

const run = promisify(execFile);
const CONTENTS = ['The deploy key is rotated on Mondays.', 'Queues are drained before a release.'];

const start = (home: TestHome) => startTestGateway({ embedder: standIn, home });

/** Saves, searches, changes and seals, so that there is something of everything that a restart needs. */
async function use(gateway: TestGateway) {
  const [first] = [
    await gateway.save('C', CONTENTS[0]!),
    await gateway.save('L', CONTENTS[1]!, { scope: 'l-private' }),
  ];
  await gateway.call('C', 'update_memory', { packet_id: first, tags: ['ops'] });
  await gateway.embedded();
  await gateway.call('C', 'search_memory', { query: 'deploy key' });
}

async function expectWhole(gateway: TestGateway) {
  expect((await fetch(`${gateway.instance.url}/ready`)).status).toBe(200);
  for (const mode of ['lexical', 'semantic', 'hybrid']) {
    const { hits } = await gateway.call('C', 'search_memory', { query: CONTENTS[0], mode, min_relevance: 0 });
    expect(
      hits.map(({ content }: { content: string }) => content),
      mode,
    ).toStrictEqual([CONTENTS[0]]);
  }
  const { hits } = await gateway.call('L', 'search_memory', { query: 'queues drained release', mode: 'lexical' });
  expect(hits).toHaveLength(1);
  const [verified] = await gateway.sql('L', 'select v.ok, v.reason from public.verify_audit() v');
  expect(verified).toStrictEqual({ ok: true, reason: null });
  const again = await gateway.call('C', 'save_memory', { content: CONTENTS[0], project_id: 'l9' });
  expect(again.status).toBe('skipped_dedupe');
  expect(await gateway.save('C', 'It still takes what is new.')).toMatch(/^[0-9a-f-]{36}$/);
}

describeOnEmbedded('a copy of the home folder', () => {
  it('starts with every memory, index and audit row', async () => {
    const home = await createTestHome();
    const gateway = await startTestGateway({ embedder: standIn, home: { ...home, drop: async () => {} } });
    await use(gateway);
    await gateway.close();
    const copy = `${home.home}.before`;
    cpSync(home.home, copy, { recursive: true });
    await home.drop();
    const restored = await start({
      ...home,
      home: copy,
      env: { ...home.env, L9_MEMORY_HOME: copy },
      drop: async () => rmSync(copy, { recursive: true, force: true }),
    });
    await expectWhole(restored);
    await restored.close();
  });
});

const [psql, pgDump] = await Promise.all([findClient('psql'), findClient('pg_dump')]);
describeOnServer('a dump of the database', () => {
  // It needs psql and pg_dump of version 18; PSQL names one.
  (psql && pgDump ? it : it.skip)('starts with every memory, index and audit row', async () => {
    const home = await createTestHome();
    const gateway = await startTestGateway({ embedder: standIn, home: { ...home, drop: async () => {} } });
    await use(gateway);
    await gateway.close();

    const dump = join(home.home, 'before.sql');
    await run(pgDump!, ['--enable-row-security', `--file=${dump}`, home.superuserUrl!]);
    const database = `${new URL(home.superuserUrl!).pathname.slice(1)}_restored`;
    const renamed = (url: string) => Object.assign(new URL(url), { pathname: `/${database}` }).href;
    const superuser = new pg.Client({ connectionString: home.superuserUrl! });
    await superuser.connect();
    try {
      await superuser.query(`create database ${database}`);
      await run(psql!, ['-X', '-q', '-v', 'ON_ERROR_STOP=1', `--file=${dump}`, renamed(home.superuserUrl!)]);
      const restored = await start({
        ...home,
        env: { ...home.env, DATABASE_URL: renamed(home.env.DATABASE_URL!) },
        superuserUrl: renamed(home.superuserUrl!),
        drop: async () => {},
      });
      await expectWhole(restored);
      await restored.close();
    } finally {
      await superuser.query(`drop database if exists ${database} with (force)`);
      await superuser.end();
      await home.drop();
    }
  });
});
