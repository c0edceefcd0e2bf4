// Looks at the data folder of the embedded engine before the engine opens it, and changes nothing. The engine itself would overwrite
// a folder without PG_VERSION by an empty database, and end with `Aborted()` in others.
import {
  accessSync,
  closeSync,
  constants,
  cpSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { checkOwner } from '../home/folder.ts';
import { causeOf, codeOf, HomeProblem } from '../home/problem.ts';
import { type ControlFile, isSegmentOf, isWholeRecord, parseControlFile, segmentName } from './control-file.ts';
import { FOLDERS, isTableFile, listFiles } from './data-files.ts';
import { type Marker, readMarker } from './marker.ts';
import { committedHashes, ForeignDatabase } from './migrations.ts';

const MAJOR = '18';
const PAGE_BYTES = 8192;
/** The table of roles, in which the name of a role of l9-memory tells a folder of an older version from that of another program. */
const ROLES = join('global', '1260');

export const dataFolderOf = (home: string) => join(home, 'data');

export const WAY_OUT = (dataDir: string) =>
  `put a whole backup in the place of ${dataDir}, or move that folder away to begin with an empty database`;

/** `missing` and `empty` get a new database; the marker is null where an older version wrote the folder. */
export type DataFolder = { state: 'missing' | 'empty' } | { state: 'whole'; marker: Marker | null };

/** Throws a HomeProblem unless the folder is missing, empty or a whole database of l9-memory. */
export function inspectData(dataDir: string, { ownedByAnyone = false } = {}): DataFolder {
  const folder = findFolder(dataDir);
  if (folder === null) return { state: 'missing' };
  const broken = brokenOf(dataDir);
  if (!folder.isDirectory()) throw broken('', 'is not a folder');
  const names = readable(broken, '', () => {
    if (!ownedByAnyone) accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
    return readdirSync(dataDir);
  });
  // A disk of its own has the folder lost+found.
  if (names.every((name) => name === 'lost+found')) return { state: 'empty' };
  if (!ownedByAnyone) checkOwner(dataDir, folder);
  checkParts(dataDir, names, broken);
  const control = readControl(dataDir, broken);
  const marker = readMarker(dataDir);
  if (marker) checkVersion(dataDir, marker);
  else checkRoles(dataDir, broken);
  checkLog(dataDir, control, broken);
  checkFiles(dataDir, control, marker, broken);
  return { state: 'whole', marker };
}

type Broken = (part: string, cause: string) => HomeProblem;

/** What is wrong with a part of the folder. */
const brokenOf =
  (dataDir: string): Broken =>
  (part, cause) =>
    new HomeProblem(join(dataDir, part), cause, WAY_OUT(dataDir));

/** Null if there is nothing of this name. */
function findFolder(dataDir: string): Stats | null {
  try {
    return statSync(dataDir);
  } catch (error) {
    if (codeOf(error) === 'ENOENT' && !isLink(dataDir)) return null;
    const cause = isLink(dataDir) ? `is a link to ${readlinkSync(dataDir)}, and ` : 'cannot be used, ';
    throw new HomeProblem(dataDir, `${cause}${causeOf(error)}`, 'mount the disk or mend the link, then start again');
  }
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

function readable<Result>(broken: Broken, part: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    throw broken(part, codeOf(error) === 'ENOENT' ? 'is missing' : `cannot be read, ${causeOf(error)}`);
  }
}

function checkParts(dataDir: string, names: string[], broken: Broken): void {
  const missing = ['PG_VERSION', 'global', 'base'].filter((name) => !names.includes(name));
  if (missing.length > 0) throw broken('', `is neither empty nor a whole database, without ${missing.join(', ')}`);
  const major = readable(broken, 'PG_VERSION', () => readFileSync(join(dataDir, 'PG_VERSION'), 'utf8')).trim();
  if (major !== MAJOR) {
    const cause = /^\d{1,3}(\.\d{1,3})?$/.test(major)
      ? `is of PostgreSQL ${major}, and this is ${MAJOR}`
      : 'is damaged';
    throw broken('PG_VERSION', cause);
  }
  for (const folder of FOLDERS) {
    const found = readable(broken, folder, () => statSync(join(dataDir, folder)));
    if (!found.isDirectory()) throw broken(folder, 'is not a folder');
  }
}

function readControl(dataDir: string, broken: Broken): ControlFile {
  const part = join('global', 'pg_control');
  const control = parseControlFile(readable(broken, part, () => readFileSync(join(dataDir, part))));
  if (typeof control === 'string') throw broken(part, control);
  return control;
}

function checkRoles(dataDir: string, broken: Broken): void {
  const roles = readable(broken, ROLES, () => readFileSync(join(dataDir, ROLES)));
  if (roles.includes('l9_gateway')) return;
  throw new HomeProblem(
    dataDir,
    'is a database that l9-memory did not make',
    'name another folder in L9_MEMORY_HOME, or move this one away',
  );
}

/** Refuses a database whose migrations are not those of this version, as the engine would once it were open. */
function checkVersion(dataDir: string, marker: Marker): void {
  const committed = committedHashes();
  const foreign = Object.entries(marker.migrations).find(([file, hash]) => committed[file] !== hash)?.[0];
  if (foreign === undefined) return;
  const isNewer = Number.parseInt(foreign, 10) > Object.keys(committed).length;
  const { what, wayOut } = new ForeignDatabase(foreign, { isNewer, lastVersion: marker.version });
  throw new HomeProblem(dataDir, what, wayOut);
}

/** The write-ahead log from where a recovery would begin. A gap would end a recovery early, without an error. */
function checkLog(dataDir: string, control: ControlFile, broken: Broken): void {
  const { redo, checkpoint, segmentBytes, timeline } = control;
  const names = new Set(readable(broken, 'pg_wal', () => readdirSync(join(dataDir, 'pg_wal'))));
  // A recovery reads on until the end; a folder that was closed needs none.
  const ofTimeline = timeline.toString(16).toUpperCase().padStart(8, '0');
  const isNext = (name: string) => !control.isShutDown && name.length === 24 && name.startsWith(ofTimeline);
  const last = [...names].filter(isNext).sort().at(-1) ?? '';
  const needed = checkpoint / segmentBytes;
  for (let segment = redo / segmentBytes; segment <= needed || segmentName(control, segment) <= last; segment++) {
    const name = segmentName(control, segment);
    const part = join('pg_wal', name);
    if (!names.has(name)) throw broken(part, 'is missing');
    const { size } = readable(broken, part, () => statSync(join(dataDir, part)));
    if (BigInt(size) !== segmentBytes) throw broken(part, `has ${size} of ${segmentBytes} bytes`);
    if (segment > needed) continue;
    const read = (from: number) => readable(broken, part, () => readPart(join(dataDir, part), from, 2 * PAGE_BYTES));
    if (!isSegmentOf(control, segment, read(0))) throw broken(part, 'does not belong to this database, or is damaged');
    const at = Number(checkpoint % segmentBytes);
    const page = at - (at % PAGE_BYTES);
    if (segment === needed && !isWholeRecord(read(page), at - page))
      throw broken(part, 'is damaged, its last checkpoint cannot be read');
  }
}

/** Files that were there when the engine was closed, and are gone or cut. After a crash PostgreSQL itself mends what it can. */
function checkFiles(dataDir: string, control: ControlFile, marker: Marker | null, broken: Broken): void {
  if (!control.isShutDown) return;
  const { closed } = marker ?? {};
  const files = readable(broken, '', () => listFiles(dataDir));
  const sizes = new Map(files.map((file) => [file, statSync(join(dataDir, file)).size]));
  if (closed?.checkpoint === String(control.checkpoint)) {
    for (const [file, before] of Object.entries(closed.files)) {
      const size = sizes.get(file);
      if (size === undefined) throw broken(file, 'is missing');
      if (size < before) throw broken(file, `has ${size} of ${before} bytes`);
    }
    return;
  }
  for (const [file, size] of sizes) {
    const rest = size % PAGE_BYTES;
    // A disk that was full leaves zeros at the end of a table, which PostgreSQL overwrites later.
    if (rest === 0 || !isTableFile(file)) continue;
    const end = readPart(join(dataDir, file), size - rest, rest);
    if (end.some((byte) => byte !== 0)) throw broken(file, `is cut, it ends within a page of ${PAGE_BYTES} bytes`);
  }
}

function readPart(path: string, from: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  const file = openSync(path, 'r');
  try {
    return bytes.subarray(0, readSync(file, bytes, 0, length, from));
  } finally {
    closeSync(file);
  }
}

/** Whether a new database would be made. Cheaper than a look at all of it, and also right while a server uses it. */
export function isWithoutData(dataDir: string): boolean {
  try {
    return readdirSync(dataDir).every((name) => name === 'lost+found');
  } catch (error) {
    return codeOf(error) === 'ENOENT' && !isLink(dataDir);
  }
}

/** The folder in which a database is made before it gets its name, so that an interruption leaves no half of one under it. */
export function draftOf(dataDir: string): string {
  const draft = `${dataDir}.draft`;
  if (lstatSync(draft, { throwIfNoEntry: false })?.isDirectory() && readMarker(draft)) {
    throw new HomeProblem(draft, 'is a whole database, which a start would delete', 'give it another name');
  }
  rmSync(draft, { recursive: true, force: true });
  return draft;
}

/** Gives a database that was made in a draft its name. An empty folder of that name is replaced. */
export function installDraft(draft: string, dataDir: string): void {
  try {
    renameSync(draft, dataDir);
  } catch (error) {
    // A link or the place of a mounted disk can't be replaced, so the folder is filled.
    if (inspectData(dataDir).state !== 'empty') throw error;
    const folder = realpathSync(dataDir);
    const isLate = (path: string) => path === join(draft, 'PG_VERSION');
    cpSync(draft, folder, { recursive: true, filter: (path) => !isLate(path) });
    // Interrupted before this, the folder is refused as not whole.
    cpSync(join(draft, 'PG_VERSION'), join(folder, 'PG_VERSION'));
    rmSync(draft, { recursive: true });
  }
}
