// The backups of docs/how-to/upgrade.md, by the commands that the page gives: what is made of them is the whole memory again.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { basename, delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { serverUrl } from '../../../db/tests/support/engine.ts';
import { describeOnEmbedded, describeOnServer } from '../../../db/tests/support/on-engine.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { createTestHome, type TestHome } from '../support/home.ts';
import { findClient } from '../support/pg-clients.ts';
import { standIn } from '../support/stand-in.ts';

const run = promisify(execFile);
const project = join(import.meta.dirname, '..', '..', '..');
const page = readFileSync(join(project, 'docs', 'how-to', 'upgrade.md'), 'utf8');
const CONTENTS = ['The deploy key is rotated on Mondays.', 'Queues are drained before a release.'];

/** The example of the page that has this word. */
const example = (word: string) =>
  [...page.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, text]) => text!).find((text) => text.includes(word))!;

/** Runs commands of the page, with what stands for them here. */
async function shell(
  commands: string,
  folder: string,
  env: Record<string, string | undefined>,
  ...by: [string, string][]
) {
  const text = by.reduce((given, [from, to]) => given.replaceAll(from, to), commands);
  return run('bash', ['-euo', 'pipefail', '-c', text], { cwd: folder, env: { ...process.env, ...env } });
}

const start = (home: TestHome) => startTestGateway({ embedder: standIn, home });
/** It leaves its database and folder, which a backup is made of. */
const startKept = (home: TestHome) => start({ ...home, drop: async () => {} });

const headOf = async (gateway: TestGateway): Promise<string> => {
  const [{ head }] = await gateway.sql('L', 'select v.head from public.verify_audit() v');
  return head;
};

/** Saves, searches, changes and seals, so that there is something of everything that a restart needs. Returns the head of the seals. */
async function use(gateway: TestGateway) {
  const [first] = [
    await gateway.save('C', CONTENTS[0]!),
    await gateway.save('L', CONTENTS[1]!, { scope: 'l-private' }),
  ];
  await gateway.call('C', 'update_memory', { packet_id: first, tags: ['ops'] });
  await gateway.embedded();
  await gateway.call('C', 'search_memory', { query: 'deploy key' });
  await gateway.asWorker('select audit.seal_audit()');
  return headOf(gateway);
}

async function expectWhole(gateway: TestGateway, head: string) {
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
  const [verified] = await gateway.sql(
    'L',
    'select v.ok, v.reason, v.seals > 0 as has_seals from public.verify_audit(head => $1) v',
    [head],
  );
  expect(verified).toStrictEqual({ ok: true, reason: null, has_seals: true });
  const again = await gateway.call('C', 'save_memory', { content: CONTENTS[0], project_id: 'l9' });
  expect(again.status).toBe('skipped_dedupe');
  expect(await gateway.save('C', 'It still takes what is new.')).toMatch(/^[0-9a-f-]{36}$/);
}

/** A key of GnuPG for the recipient that the page names, in a folder of its own; null if there is no GnuPG. */
async function keyring(folder: string): Promise<{ env: Record<string, string>; drop(): Promise<unknown> } | null> {
  const home = join(folder, 'gnupg');
  mkdirSync(home, { mode: 0o700 });
  const env = { GNUPGHOME: home };
  const gpg = (...args: string[]) => run('gpg', args, { env: { ...process.env, ...env } });
  const made = await gpg(
    '--batch',
    '--passphrase',
    '',
    '--quick-gen-key',
    'backup@example.org',
    'default',
    'default',
  ).catch(() => null);
  return made && { env, drop: () => run('gpgconf', ['--homedir', home, '--kill', 'all']) };
}

const COPIES = ['as it is', 'encrypted'] as const;

describeOnEmbedded('a copy of the home folder', () => {
  it.each(COPIES)('starts with every memory, index and audit row, kept %s', async (how) => {
    const home = await createTestHome();
    const gateway = await startKept(home);
    const head = await use(gateway);
    await gateway.close();
    const folder = mkdtempSync(`${home.home}-`);
    const keys = await keyring(folder);
    const name = basename(home.home);
    const commands =
      how === 'as it is'
        ? [/`(cp -a [^`]+)`/, 'mv before restored']
        : [/`(tar -cC [^`]+)`/, 'mkdir restored', /`(gpg --batch --decrypt before\.tar\.gpg[^`]+)`/];
    if (how === 'encrypted' && !keys) return;
    try {
      const texts = commands.map((one) => (typeof one === 'string' ? one : one.exec(page)![1]!.replace(/\s+/g, ' ')));
      await shell(
        texts.join('\n'),
        folder,
        keys?.env ?? {},
        ['-xC ~', '-xC restored --strip-components=1'],
        ['~/.l9-memory.before', 'before'],
        ['~/.l9-memory', home.home],
        ['-cC ~ .l9-memory', `-cC ${dirname(home.home)} ${name}`],
      );
    } finally {
      await keys?.drop();
    }
    await home.drop();
    const copy = join(folder, 'restored');
    const restored = await start({
      ...home,
      home: copy,
      env: { ...home.env, L9_MEMORY_HOME: copy },
      drop: async () => rmSync(folder, { recursive: true, force: true }),
    });
    await expectWhole(restored, head);
    await restored.close();
  });
});

const [psql, pgDump] = await Promise.all([findClient('psql'), findClient('pg_dump')]);
describeOnServer('a dump of the database', () => {
  let root: pg.Client;
  beforeAll(async () => {
    root = new pg.Client({ connectionString: serverUrl! });
    await root.connect();
  });
  afterAll(() => root.end());

  /** What belongs to the database itself. */
  const ownOf = async (name: string) => {
    const { rows } = await root.query(
      `select pg_get_userbyid(d.datdba) as owner, array(select unnest(d.datacl)::text order by 1) as rights, s.setconfig as settings
       from pg_database d left join pg_db_role_setting s on s.setdatabase = d.oid and s.setrole = 0 where d.datname = $1`,
      [name],
    );
    return rows[0];
  };

  /** Roles belong to the whole server: their passwords are put back, and nobody else changes roles meanwhile. */
  async function withPasswords<Result>(work: () => Promise<Result>): Promise<Result> {
    await root.query("select pg_advisory_lock(hashtext('l9-memory test template'))");
    const { rows } = await root.query(
      "select rolname, rolpassword from pg_authid where rolname in ('l9_owner', 'l9_gateway')",
    );
    try {
      return await work();
    } finally {
      for (const { rolname, rolpassword } of rows)
        await root.query(`alter role ${rolname} password ${rolpassword ? pg.escapeLiteral(rolpassword) : 'null'}`);
      await root.query("select pg_advisory_unlock(hashtext('l9-memory test template'))");
    }
  }

  // It needs psql and pg_dump of version 18; PSQL names one.
  (psql && pgDump ? it : it.skip).each(COPIES)(
    'is restored to the end by the commands of the page, kept %s',
    async (how) => {
      const home = await createTestHome();
      const name = new URL(home.superuserUrl!).pathname.slice(1);
      const gateway = await startKept(home);
      const head = await use(gateway);
      await gateway.close();
      const keys = await keyring(home.home);
      if (how === 'encrypted' && !keys) return home.drop();
      try {
        const url = new URL(serverUrl!);
        const path = `${dirname(pgDump!)}${delimiter}${process.env.PATH}`;
        const given = (commands: string) =>
          shell(
            commands,
            home.home,
            { ...keys?.env, PATH: path, ROOT_DATABASE_URL: '', DATABASE_URL: '' },
            ['postgres://postgres:…@host/l9_memory', home.superuserUrl!],
            ['postgres://postgres:…@host/postgres', url.href],
            [
              'npx l9-memory db setup',
              `"${process.execPath}" "${join(project, 'gateway/src/cli.ts')}" db setup --database ${name}`,
            ],
            ['l9_memory', name],
          );
        const isEncrypted = how === 'encrypted';
        await given(example(isEncrypted ? '--output before.sql.gpg' : '--file=before.sql postgres'));
        expect(existsSync(join(home.home, 'before.sql'))).toBe(!isEncrypted);
        if (isEncrypted) expect(readFileSync(join(home.home, 'before.sql.gpg')).includes('deploy key')).toBe(false);

        // Databases of tests are not made by `db setup`, which gives them to l9_owner.
        await root.query(`alter database ${name} owner to l9_owner`);
        const before = await ownOf(name);
        const [remake, restore, setup] = example('drop database').trim().split('\n') as [string, string, string];
        await given(remake);
        await given(isEncrypted ? example('--decrypt before.sql.gpg |') : restore);
        const env = {
          ...home.env,
          DATABASE_OWNER_URL: Object.assign(new URL(home.superuserUrl!), { username: 'l9_owner' }).href,
        };
        await expect(startKept({ ...home, env })).rejects.toThrow(/permission denied for database/);

        await withPasswords(() => given(setup));
        expect(await ownOf(name)).toStrictEqual(before);
        const restored = await startKept({ ...home, env });
        await expectWhole(restored, head);
        // The owner needs the right to make temporary tables for this.
        await restored.asWorker('call public.refresh_memory_views()');
        await restored.close();
      } finally {
        await keys?.drop();
        await home.drop();
      }
    },
  );
});
