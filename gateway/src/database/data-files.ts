// The files of the embedded engine's data folder that hold what was saved, and what PostgreSQL needs to find it.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The folder of the one database that is used. */
export const DATABASE_FOLDER = join('base', '5');

/** Tables and indexes, the maps of their names, the state of transactions, and the write-ahead log. */
const HOLDING: [folder: string, names: RegExp][] = [
  [DATABASE_FOLDER, /^(\d+(_(fsm|vm|init))?(\.\d+)?|PG_VERSION|pg_filenode\.map)$/],
  ['global', /^(\d+(_(fsm|vm|init))?(\.\d+)?|pg_filenode\.map)$/],
  ['pg_xact', /^[0-9A-F]{4,}$/],
  [join('pg_multixact', 'offsets'), /^[0-9A-F]{4,}$/],
  [join('pg_multixact', 'members'), /^[0-9A-F]{4,}$/],
  ['pg_wal', /^[0-9A-F]{24}$/],
];

/** Their paths within the folder. */
export const listFiles = (dataDir: string): string[] =>
  HOLDING.flatMap(([folder, names]) =>
    readdirSync(join(dataDir, folder))
      .filter((name) => names.test(name))
      .map((name) => join(folder, name)),
  );

export const isTableFile = (file: string): boolean => /^(base|global)[/\\].*\d+(_\w+)?(\.\d+)?$/.test(file);

/** The folders that initdb makes. A tool that copies only files leaves out the empty ones. */
export const FOLDERS = [
  'base',
  DATABASE_FOLDER,
  'global',
  'pg_wal',
  'pg_xact',
  'pg_multixact/offsets',
  'pg_multixact/members',
  'pg_commit_ts',
  'pg_dynshmem',
  'pg_logical/mappings',
  'pg_logical/snapshots',
  'pg_notify',
  'pg_replslot',
  'pg_serial',
  'pg_snapshots',
  'pg_stat',
  'pg_stat_tmp',
  'pg_subtrans',
  'pg_tblspc',
  'pg_twophase',
];
