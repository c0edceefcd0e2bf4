import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { PGlite } from '@electric-sql/pglite';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import { bootstrapSql, type MigrationLog, runMigrations } from './migrations.ts';

/**
 * Creates roles and extensions and runs the pending migrations. graphile-migrate has its own client, so it reaches the
 * engine through a socket in a private folder.
 */
export async function migrateEmbedded(db: PGlite, log: MigrationLog, migrationsFolder?: string): Promise<void> {
  await db.exec(bootstrapSql());
  // A server makes checkpoints by itself; on this engine a job does.
  await db.exec('grant pg_checkpoint to l9_worker');
  const folder = mkdtempSync(join(tmpdir(), 'l9-'));
  const server = new PGLiteSocketServer({ db, path: join(folder, '.s.PGSQL.5432'), maxConnections: 4 });
  await db.exec('set session authorization l9_owner');
  try {
    await server.start();
    await runMigrations(
      `postgres://l9_owner@localhost/postgres?host=${encodeURIComponent(folder)}`,
      log,
      migrationsFolder,
    );
  } finally {
    // graphile-migrate closes its connection late, and ends this thread if the connection breaks before that.
    for (let tries = 0; tries < 100 && server.getStats().activeConnections > 0; tries++) await setTimeout(20);
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  await db.exec('deallocate all; reset all; set session authorization postgres');
}
