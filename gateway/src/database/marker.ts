// l9-memory.json in the data folder of the embedded engine: which version of l9-memory wrote the folder, and what must be in it.
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { version } from '../base/version.ts';
import { causeOf, codeOf, HomeProblem } from '../home/problem.ts';
import { parseControlFile } from './control-file.ts';
import { listFiles } from './data-files.ts';
import { committedHashes } from './migrations.ts';

export const MARKER = 'l9-memory.json';

const form = z.object({
  /** The version of l9-memory that opened the folder last. */
  version: z.string(),
  /** The hash of each migration that the database has run, by file. */
  migrations: z.record(z.string(), z.string()).default({}),
  /** The ids of the master keys that archives needed when they were last looked at. */
  archive_keys: z.array(z.string()).default([]),
  /** What the folder held when the engine was last closed: the place of its last checkpoint, and the size of each file. */
  closed: z.object({ checkpoint: z.string(), files: z.record(z.string(), z.number()) }).optional(),
});

export type Marker = z.output<typeof form>;

/** Null where there is none: versions before it wrote no marker. */
export function readMarker(dataDir: string): Marker | null {
  const path = join(dataDir, MARKER);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw new HomeProblem(path, `cannot be read, ${causeOf(error)}`, WAY_OUT);
  }
  try {
    return form.parse(JSON.parse(text));
  } catch {
    throw new HomeProblem(path, 'is not the file that l9-memory writes', WAY_OUT);
  }
}

const WAY_OUT =
  'put a whole backup of the data folder in its place, or delete this file if you know that the rest of the folder is whole';

/** Notes that this version opened the folder. */
export function markOpened(dataDir: string): void {
  const before = readMarker(dataDir);
  const migrations = committedHashes();
  if (before?.version === version && JSON.stringify(before.migrations) === JSON.stringify(migrations)) return;
  writeMarker(dataDir, { archive_keys: [], ...before, version, migrations });
}

export function markArchiveKeys(dataDir: string, ids: readonly string[]): void {
  const before = readMarker(dataDir);
  const archive_keys = [...ids].sort();
  if (!before || JSON.stringify(before.archive_keys) === JSON.stringify(archive_keys)) return;
  writeMarker(dataDir, { ...before, archive_keys });
}

/** Notes what a folder holds whose engine was closed, so that the next start notices if a part of it is gone. */
export function markClosed(dataDir: string): void {
  const before = readMarker(dataDir);
  const control = parseControlFile(readFileSync(join(dataDir, 'global', 'pg_control')));
  if (!before || typeof control === 'string' || !control.isShutDown) return;
  const files: Record<string, number> = {};
  for (const file of listFiles(dataDir)) files[file] = statSync(join(dataDir, file)).size;
  writeMarker(dataDir, { ...before, closed: { checkpoint: String(control.checkpoint), files } });
}

function writeMarker(dataDir: string, marker: Marker): void {
  const path = join(dataDir, MARKER);
  const draft = `${path}.draft`;
  try {
    writeFileSync(draft, `${JSON.stringify(marker, null, 1)}\n`, { mode: 0o600 });
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    // Without room for it the folder is as whole as it was, and the next start tries again.
    if (codeOf(error) !== 'ENOSPC') throw error;
  }
}
