// A migrated, empty data folder of the embedded engine. A first start copies it, because initdb and the migrations take ten
// times as long. In a clone `npm run template` makes it, and a package has it in one file; where it is missing, the first start on a
// machine makes it.
import { createHash } from 'node:crypto';
import {
  chmodSync,
  constants,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type Logger, pino } from 'pino';
import { packageRoot } from '../base/paths.ts';
import { version } from '../base/version.ts';
import { type Config, loadConfig } from '../config/config.ts';
import { dataFolderOf, draftOf, inspectData, installDraft, isWithoutData } from '../database/data-folder.ts';
import { ROOM_FOR_READS, ROOM_FOR_SAVES, requireSpace } from '../database/disk.ts';
import { openDatabase } from '../database/index.ts';
import { MARKER } from '../database/marker.ts';
import { bootstrapSql, committedSql } from '../database/migrations.ts';
import { userCache } from '../home/cache.ts';
import { makeHome } from '../home/folder.ts';
import { openJobQueue } from '../jobs/index.ts';
import { unpackFolder } from './packed-template.ts';

// Raise it when a template is made in another way.
const VERSION = 3;
const TEMPLATE_BYTES = 72 * 1024 * 1024;

/** What the template depends on: another schema, engine or job queue makes another template. It also names the version that made it. */
function fingerprint(): string {
  const { dependencies, devDependencies } = JSON.parse(
    readFileSync(join(packageRoot, 'package.json'), 'utf8'),
  ) as Record<'dependencies' | 'devDependencies', Record<string, string>>;
  const versions = Object.entries({ ...dependencies, ...devDependencies })
    .filter(([name]) => /^(@electric-sql\/|graphile-(migrate|worker)$)/.test(name))
    .sort();
  const hash = createHash('sha256').update(JSON.stringify([VERSION, version, versions]));
  for (const sql of [bootstrapSql(), ...committedSql()]) hash.update(sql);
  return hash.digest('hex').slice(0, 12);
}

/** In the package, where the build leaves it, and in the cache of the user, if the package can't be written to. */
const folders = () => {
  const name = `template-${fingerprint()}`;
  return [join(packageRoot, '.cache', name), join(userCache(), name)];
};

/** The file of a package. `npm run build` writes it. */
export const packedTemplate = (): string => join(packageRoot, 'dist', `template-${fingerprint()}.br`);

/** The template of this version, or null if there is none yet. */
export const findTemplate = (): string | null => folders().find(isWhole) ?? null;

/** Whether all of a template is there: tools that clean up caches delete files one by one. */
export function isWhole(folder: string): boolean {
  try {
    return inspectData(folder, { ownedByAnyone: true }).state === 'whole';
  } catch {
    return false;
  }
}

/** Finds the template or makes it. Null if no folder can be written to. */
export async function ensureTemplate(logger: Logger = pino({ level: 'silent' })): Promise<string | null> {
  const found = findTemplate();
  if (found) return found;
  for (const folder of folders()) {
    const draft = draftBeside(folder);
    if (!draft) continue;
    try {
      // A part of a template is worth nothing.
      if (!isWhole(folder)) rmSync(folder, { recursive: true, force: true });
      await fill(draft, logger);
      // It holds nothing of anyone, and the one who installs the package need not be the one who runs it.
      changeModes(join(draft, 'data'), 0o755, 0o644);
      moveOrDrop(join(draft, 'data'), folder);
      return folder;
    } finally {
      rmSync(draft, { recursive: true, force: true });
    }
  }
  return null;
}

/** Refuses a start on the embedded engine for which the disk has no room: the engine would end in the middle of it. */
export function requireRoomToStart({ home }: Config): void {
  makeHome(home);
  requireSpace(home, isWithoutData(dataFolderOf(home)) ? TEMPLATE_BYTES + ROOM_FOR_SAVES : ROOM_FOR_READS);
}

/** Gives a home folder without data a copy of the template. Without a template the engine itself creates the data. */
export async function fillHome({ home }: Config, logger: Logger, onPrepare?: () => void): Promise<void> {
  const data = dataFolderOf(home);
  if (inspectData(data).state !== 'missing') return;
  makeHome(home);
  // The caller holds the lock of the folder.
  const draft = draftOf(data);
  if (existsSync(packedTemplate())) await unpackFolder(readFileSync(packedTemplate()), draft);
  else {
    if (!findTemplate()) onPrepare?.();
    const template = await ensureTemplate(logger);
    if (!template) return;
    copyTemplate(template, draft);
  }
  const marker = readFileSync(join(draft, MARKER));
  rmSync(join(draft, MARKER));
  installDraft(draft, data);
  writeFileSync(join(data, MARKER), marker, { mode: 0o600 });
}

/** Lets fillHome fill an empty folder too, unless it is a link or the place of a disk, which the engine fills. */
export function dropEmptyData({ home }: Config): void {
  try {
    rmdirSync(dataFolderOf(home));
  } catch {
    // It stays, and the engine creates the data.
  }
}

/** Copies a template to a folder, which becomes the data folder of a database. */
export function copyTemplate(template: string, folder: string, isNeeded: (path: string) => boolean = () => true): void {
  mkdirSync(folder, { mode: 0o700 });
  cpSync(template, folder, { recursive: true, mode: constants.COPYFILE_FICLONE, filter: isNeeded });
  changeModes(folder, 0o700, 0o600);
}

function changeModes(folder: string, ofFolders: number, ofFiles: number): void {
  chmodSync(folder, ofFolders);
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? ofFolders : ofFiles);
}

function draftBeside(folder: string): string | null {
  try {
    mkdirSync(join(folder, '..'), { recursive: true });
    return mkdtempSync(join(folder, '..', 'draft-'));
  } catch {
    return null;
  }
}

/** Another process may have been quicker, and then its template is as good. */
function moveOrDrop(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!existsSync(to)) throw error;
  }
}

/** Migrations, the tables of the job queue, and the first contents of the materialized views. */
async function fill(home: string, logger: Logger): Promise<void> {
  const database = await openDatabase(loadConfig({ L9_MEMORY_HOME: home }), logger);
  try {
    const queue = await openJobQueue(database);
    await queue.release();
    await database.workerPool.query('call public.refresh_memory_views()');
  } finally {
    await database.close();
  }
}
