// The folders that a client works in, which it names when it is asked. They decide about the project where the process was started in a
// folder of none of them, as by editors with windows of several projects.
import { realpathSync } from 'node:fs';
import { relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Server } from '@modelcontextprotocol/server';
import { inferWorkingCopy, type Place } from './working-copy.ts';

const ANSWER_WITHIN_MS = 2_000;

/** The folders among the addresses; others can't be looked at. */
function foldersOf(roots: readonly { uri: string }[]): string[] {
  return roots.flatMap(({ uri }) => {
    try {
      return uri.startsWith('file:') ? [realpathSync(fileURLToPath(uri))] : [];
    } catch {
      return [];
    }
  });
}

const isWithin = (folder: string, root: string) => {
  const path = relative(root, folder);
  return path === '' || (path !== '..' && !path.startsWith(`..${sep}`) && !/^[a-z]:/i.test(path));
};

/** The place of the first root with a project, unless the folder of the process lies within a root. Null: none decides. */
export function placeOfRoots(
  roots: readonly { uri: string }[],
  { named, folder, env }: { named: Place; folder: string; env: NodeJS.ProcessEnv },
): Place | null {
  const folders = foldersOf(roots);
  if (folders.some((root) => isWithin(folder, root))) return null;
  for (const root of folders) {
    const { reason: _, ...place } = inferWorkingCopy(named, root, env);
    if (place.project !== null) return place;
  }
  return null;
}

/** Asks a client of the specifications of 2025 for its roots, if it has any. One that does not answer in time has none. */
export async function askForRoots(server: Server): Promise<{ uri: string }[]> {
  if (!server.getClientCapabilities()?.roots) return [];
  try {
    return (await server.listRoots(undefined, { timeout: ANSWER_WITHIN_MS })).roots;
  } catch {
    return [];
  }
}
