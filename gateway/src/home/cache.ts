import { constants, enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** What can be made again, for all home folders of this user. */
export const userCache = (): string => join(homedir(), '.cache', 'l9-memory');

const isKept = (folder: string) => enableCompileCache(folder).status !== constants.compileCacheStatus.FAILED;

/**
 * Keeps compiled modules, so that starts are faster: for all home folders, so that the first start of a new one is too; in
 * `home` where the user has no folder that can be written to. No other user can write to either. The processes that this one
 * starts keep theirs there, too: with all modules in the cache, Node needs not load its compiler of TypeScript, which takes 20 MB.
 */
export function keepCompiledModules(home?: string): void {
  const { env } = process;
  // Node keeps them already.
  if (env.NODE_COMPILE_CACHE) return;
  const folders = [userCache(), ...(home ? [home] : [])].map((folder) => join(folder, 'compile-cache'));
  const kept = folders.find(isKept);
  if (kept) env.NODE_COMPILE_CACHE = kept;
}
