// Runs the migrations of a server that others use meanwhile. A statement that waits for a lock on a table holds up all later ones on that
// table, so a migration waits briefly, gives way, and begins again.
import { setTimeout as sleep } from 'node:timers/promises';
import { SQLSTATE, sqlstateOf } from '../base/errors.ts';
import { type MigrationLog, runMigrations } from './migrations.ts';

const LOCK_TIMEOUT = '3s';
const AGAIN_AFTER_MS = 2_000;
const ATTEMPTS = 12;

/** The same URL, whose sessions wait so long for a lock. A URL of PostgreSQL has no + for a space. */
function withLockTimeout(ownerUrl: string): string {
  const url = new URL(ownerUrl);
  const options = [url.searchParams.get('options'), `-c lock_timeout=${LOCK_TIMEOUT}`].filter(Boolean).join(' ');
  url.searchParams.delete('options');
  url.search = `${url.search ? `${url.search}&` : ''}options=${encodeURIComponent(options)}`;
  return url.href;
}

/** Runs the pending migrations as l9_owner. Rejects where other sessions hold a lock for about a minute. */
export async function migrateServer(ownerUrl: string, log: MigrationLog, folder?: string): Promise<void> {
  const url = withLockTimeout(ownerUrl);
  for (let attempt = 1; ; attempt++) {
    try {
      return await runMigrations(url, log, folder);
    } catch (error) {
      if (sqlstateOf(error) !== SQLSTATE.lockNotAvailable) throw error;
      if (attempt === ATTEMPTS)
        throw new Error(
          'a migration waited for a lock that another session holds: end its transaction (pg_stat_activity shows it), then try again',
        );
      await sleep(AGAIN_AFTER_MS);
    }
  }
}
