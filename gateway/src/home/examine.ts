// The look at a home folder before it is used. It changes nothing, and refuses a folder that this process can't use as it is.
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { type DataFolder, dataFolderOf, inspectData } from '../database/data-folder.ts';
import { readCredentials, refuseLostArchiveKey } from './credentials.ts';
import { checkHome, checkOwner } from './folder.ts';
import { type HomeLock, lockHome } from './lock.ts';

export interface HomeState {
  /** Of the embedded engine; null where the database is on a server. */
  data: DataFolder['state'] | null;
  hasCredentials: boolean;
  /** There was a database, as far as the rest of the folder tells, and a new one would take its place. */
  isDataGone: boolean;
}

/** Throws a HomeProblem with the first thing that is wrong. */
export function examineHome(config: Config): HomeState {
  checkHome(config.home);
  const data = config.databaseUrl === null ? inspectData(dataFolderOf(config.home)).state : null;
  // Root can write to every folder, but its owner could not use what root leaves there.
  const home = statSync(config.home, { throwIfNoEntry: false });
  if (home && data !== null && data !== 'whole' && process.getuid?.() === 0) checkOwner(config.home, home);
  const credentials = readCredentials(config.home);
  refuseLostArchiveKey(config, credentials);
  const hasCredentials = credentials !== null;
  // Commands make credentials before a first start, but the folder psql comes with the first database.
  const isDataGone =
    hasCredentials && (data === 'empty' || (data === 'missing' && existsSync(join(config.home, 'psql'))));
  return { data, hasCredentials, isDataGone };
}

/** Takes the home folder for this process. A folder that can't be used is refused, and nothing in it is changed. */
export const takeHome = (config: Config): Promise<HomeLock> => lockHome(config.home, () => void examineHome(config));
