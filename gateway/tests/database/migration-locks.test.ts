// A migration on a server that is used meanwhile.
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { createBareDatabase } from '../../../db/tests/support/databases.ts';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { describeOnServer } from '../../../db/tests/support/on-engine.ts';
import { migrateServer } from '../../src/database/migrate-server.ts';

const BODY = 'alter table public.read_for_long add column b integer;';

describeOnServer('a migration of a table that a long transaction reads', () => {
  let bare: NonNullable<Awaited<ReturnType<typeof createBareDatabase>>>;
  let folder: string;
  const clients: pg.Client[] = [];
  const connected = async () => {
    const client = new pg.Client({ connectionString: bare.superuserUrl });
    await client.connect();
    clients.push(client);
    return client;
  };

  beforeAll(async () => {
    bare = (await createBareDatabase())!;
    folder = mkdtempSync(join(tmpdir(), 'l9t-'));
    mkdirSync(join(folder, 'committed'));
    const hash = createHash('sha1').update(`${BODY}\n`).digest('hex');
    writeFileSync(
      join(folder, 'committed', '000001-add-b.sql'),
      `--! Previous: -\n--! Hash: sha1:${hash}\n--! Message: add b\n\n${BODY}\n`,
    );
  });
  afterAll(async () => {
    // graphile-migrate closes its connections late, and ends this process if one breaks before that.
    const sessions = "select from pg_stat_activity where datname = current_database() and usename = 'l9_owner'";
    await eventually(async () => (await clients[0]!.query(sessions)).rowCount === 0);
    await Promise.all(clients.map((client) => client.end()));
    rmSync(folder, { recursive: true, force: true });
    await bare.drop();
  });

  it('gives way to other readers, and runs once that transaction has ended', async () => {
    const [long, other] = [await connected(), await connected()];
    await long.query(
      'create table public.read_for_long (a integer); alter table public.read_for_long owner to l9_owner',
    );
    await long.query('begin; select from public.read_for_long');
    const errors: string[] = [];
    const migrating = migrateServer(bare.ownerUrl, { debug: () => {}, error: (text) => errors.push(text) }, folder);
    let isOver = false;
    void migrating.finally(() => {
      isOver = true;
    });
    const waits = async () =>
      (
        await other.query(
          `select from pg_locks
           where not granted and relation = 'public.read_for_long'::regclass and mode = 'AccessExclusiveLock'`,
        )
      ).rowCount === 1;
    await eventually(waits);
    // This read stands behind the migration, and gets its turn though the long transaction goes on.
    await other.query('select from public.read_for_long');
    // The migration begins again.
    await eventually(waits);
    expect(isOver).toBe(false);
    await long.query('commit');
    await migrating;
    expect((await other.query('select b from public.read_for_long')).fields).toHaveLength(1);
  });
});
