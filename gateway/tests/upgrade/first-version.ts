// A home folder and a database as the first version left them: with the first migration only.
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBareDatabase } from '../../../db/tests/support/databases.ts';
import { newPool, poolOf } from '../../../db/tests/support/migrations.ts';
import { type Sessions, sessionsOf } from '../../../db/tests/support/sessions.ts';
import { migrateEmbedded } from '../../src/database/migrate-embedded.ts';
import { type MigrationLog, runMigrations } from '../../src/database/migrations.ts';
import { createPglite } from '../../src/database/pglite.ts';
import type { TestHome } from '../support/home.ts';

const committed = join(import.meta.dirname, '..', '..', '..', 'db', 'migrations', 'committed');
const FIRST = '000001-the-first-schema.sql';
const hash = /^--! Hash: (\S+)$/m.exec(readFileSync(join(committed, FIRST), 'utf8'))![1];
const SILENT: MigrationLog = { error: () => {}, debug: () => {} };

export interface FirstVersion extends TestHome {
  /** For graphile-migrate, with the first migration. */
  migrationsFolder: string;
  ownerUrl: string | null;
}

export async function createFirstVersion(): Promise<FirstVersion> {
  const home = mkdtempSync(join(tmpdir(), 'l9t-'));
  const migrationsFolder = join(home, 'migrations');
  mkdirSync(join(migrationsFolder, 'committed'), { recursive: true });
  copyFileSync(join(committed, FIRST), join(migrationsFolder, 'committed', FIRST));
  const bare = await createBareDatabase();
  const first: FirstVersion = {
    home,
    migrationsFolder,
    ownerUrl: bare?.ownerUrl ?? null,
    superuserUrl: bare?.superuserUrl ?? null,
    env: {
      L9_MEMORY_HOME: home,
      ARCHIVE_KEY: `k1:${Buffer.alloc(32, 'key').toString('base64')}`,
      ...(bare ? { DATABASE_URL: gatewayUrl(bare.ownerUrl), DATABASE_OWNER_URL: bare.ownerUrl } : {}),
    },
    async drop() {
      rmSync(home, { recursive: true, force: true });
      await bare?.drop();
    },
  };
  await migrate(first);
  if (!bare) {
    const marker = { version: '1.0.0', migrations: { [FIRST]: hash } };
    writeFileSync(join(home, 'data', 'l9-memory.json'), JSON.stringify(marker), { mode: 0o600 });
  }
  return first;
}

const gatewayUrl = (ownerUrl: string) => ownerUrl.replace('//l9_owner:', '//l9_gateway:');

/** Runs the migrations of its own folder, as a start runs those of the program. */
export async function migrate({ home, ownerUrl, migrationsFolder }: FirstVersion, log = SILENT): Promise<void> {
  if (ownerUrl) return runMigrations(ownerUrl, log, migrationsFolder);
  const engine = await createPglite(join(home, 'data'));
  await migrateEmbedded(engine, log, migrationsFolder);
  await engine.close();
}

/** SQL on the database, while no gateway uses it. */
export async function withSessions<T>(
  { home, ownerUrl, superuserUrl }: FirstVersion,
  work: (db: Sessions) => Promise<T>,
) {
  if (ownerUrl) {
    const pool = newPool({ connectionString: gatewayUrl(ownerUrl), max: 4 });
    return work(sessionsOf(pool, superuserUrl)).finally(() => pool.end());
  }
  const engine = await createPglite(join(home, 'data'));
  await engine.exec('set session authorization l9_gateway');
  const pool = poolOf(engine);
  try {
    return await work(sessionsOf(pool, null));
  } finally {
    await pool.end();
    await engine.close();
  }
}
