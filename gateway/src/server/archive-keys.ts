// The master keys of archives: which ones the database needs, and those that are given. Where the one that it needs is lost, the start
// asks for it before it makes another.
import type { Logger } from 'pino';
import { KnownError } from '../base/errors.ts';
import { type Config, ConfigError } from '../config/config.ts';
import { parseMasterKeys } from '../config/master-keys.ts';
import { dataFolderOf } from '../database/data-folder.ts';
import type { Database } from '../database/index.ts';
import { markArchiveKeys } from '../database/marker.ts';
import { completeCredentials, rereadCredentials } from '../home/credentials.ts';
import type { HomeState } from '../home/examine.ts';

export async function openArchiveKeys(config: Config, home: HomeState, { workerPool }: Database, logger: Logger) {
  const { rows } = await workerPool.query<{ key_id: string }>(
    // Empty: it was imported without its key.
    "select distinct a.key_id from public.session_archives a where a.key_id <> '' order by a.key_id",
  );
  const needed = new Set(rows.map(({ key_id }) => key_id));
  const mark = () => {
    if (config.databaseUrl === null) markArchiveKeys(dataFolderOf(config.home), [...needed]);
  };
  mark();
  completeCredentials(
    config,
    {
      needed: [...needed],
      hasOldData: home.data === 'whole' || (home.data === null && (await hasMemories(workerPool))),
    },
    (text) => logger.warn(text),
  );
  // Read when a session is stored or read: if credentials.json has lost its key since the start, everything else works.
  const read = () => parseMasterKeys(config.archiveKey ?? storedKey(config));
  const missing = [...needed].filter((id) => !idsOf(read).includes(id));
  if (missing.length > 0) {
    logger.warn(
      { keys: missing },
      'archives are encrypted with keys that are not given: add the former keys to ARCHIVE_KEY',
    );
  }
  return {
    read,
    /** Notes that an archive needs this key from now on. */
    note(id: string) {
      if (needed.has(id)) return;
      needed.add(id);
      mark();
    },
  };
}

function storedKey(config: Config): string {
  try {
    return rereadCredentials(config).archiveKey;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new KnownError(
      'L9KEY',
      'ARCHIVE_KEY: credentials.json of the gateway, which has the archive key, cannot be read',
    );
  }
}

function idsOf(read: () => { id: string }[]): string[] {
  try {
    return read().map(({ id }) => id);
  } catch {
    return [];
  }
}

async function hasMemories(pool: Database['workerPool']): Promise<boolean> {
  const { rows } = await pool.query<{ has: boolean }>('select exists (select from public.packet_store) as has');
  return rows[0]!.has;
}
