import { ConfigError } from '../config/problem.ts';

/** Why a home folder, or a file in it, cannot be used: one sentence that names the path, the cause and the way out. */
export class HomeProblem extends ConfigError {
  constructor(path: string, cause: string, wayOut: string) {
    super(`${path} ${cause}: ${wayOut}`);
  }
}

const CAUSES: Record<string, string> = {
  EACCES: 'this user may not access it',
  EPERM: 'this user may not change it',
  EROFS: 'its file system is read-only',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of the path is a file',
  ENOENT: 'it does not exist',
  ELOOP: 'its links lead to each other',
  EIO: 'the disk cannot be read',
};

/** The cause of a system error, without its path. */
export function causeOf(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException;
  return CAUSES[code] ?? (code || message.split('\n')[0]!);
}

export const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;
