import { constants, enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** What can be made again, for all home folders of this user. */
export const userCache = (): string => join(homedir(), '.cache', 'l9-memory');

/**
 * Keeps compiled modules, so that starts are faster: for all home folders, so that the first start of a new one is too; in
 * `home` where the user has no folder that can be written to. No other user can write to either.
 */
export function keepCompiledModules(home?: string): void {
  const folders = [userCache(), ...(home ? [home] : [])].map((folder) => join(folder, 'compile-cache'));
  folders.some((folder) => enableCompileCache(folder).status !== constants.compileCacheStatus.FAILED);
}
