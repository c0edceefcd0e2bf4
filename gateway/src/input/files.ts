// Opens the files that people, hooks and models name. Only what ends is read: no folder, named pipe, device or socket.
import { closeSync, constants, createReadStream, fstatSync, openSync, readSync, type Stats, statSync } from 'node:fs';

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  ENOTDIR: 'there is no such file or folder',
  EACCES: 'you may not read it',
  EPERM: 'you may not read it',
  ELOOP: 'its links lead in a circle',
  ENAMETOOLONG: 'its name is too long',
};

/** What keeps a file from being read. The message begins with its path, the reason stands without it. */
export class UnreadableFile extends Error {
  readonly reason: string;
  constructor(path: string, reason: string) {
    super(`${path}: ${reason}`);
    this.reason = reason;
  }
}

/** Why the file system refused. Other errors are rethrown. */
export function reasonOfRefusal(error: unknown): string {
  if (error instanceof UnreadableFile) return error.reason;
  const { code } = error as NodeJS.ErrnoException;
  if (!code || !/^E[A-Z0-9]+$/.test(code)) throw error;
  return REASONS[code] ?? `it cannot be read (${code})`;
}

function kindOf(stats: Stats): string | null {
  if (stats.isFile()) return null;
  if (stats.isDirectory()) return 'a folder';
  if (stats.isFIFO()) return 'a named pipe';
  return stats.isSocket() ? 'a socket' : 'a device';
}

const onFileSystem = <T>(path: string, use: () => T): T => {
  try {
    return use();
  } catch (error) {
    throw new UnreadableFile(path, reasonOfRefusal(error));
  }
};

function requireFile(path: string, stats: Stats): void {
  const kind = kindOf(stats);
  if (kind) throw new UnreadableFile(path, `it is ${kind}, not a file`);
}

export interface OpenFile {
  descriptor: number;
  /** Its size when it was opened. Bytes that are appended meanwhile are not read, so that reading ends. */
  size: number;
}

/** Opens a file for reading. Throws UnreadableFile. */
export const openFile = (path: string): OpenFile =>
  onFileSystem(path, () => {
    // Opening a device can change it, so it is checked before; the opened file is checked again.
    requireFile(path, statSync(path));
    // Without O_NONBLOCK, opening a named pipe waits for somebody who writes.
    const descriptor = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      const stats = fstatSync(descriptor);
      requireFile(path, stats);
      return { descriptor, size: stats.size };
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
  });

/** The size of a file that can be read. Throws UnreadableFile. */
export function sizeOfFile(path: string): number {
  const { descriptor, size } = openFile(path);
  closeSync(descriptor);
  return size;
}

/** The bytes of a file that was opened, in chunks. It is closed at the end. */
export async function* chunksOf({ descriptor, size }: OpenFile): AsyncGenerator<Buffer> {
  // `end` is the last byte that is read, so it can't say that there is none.
  if (size === 0) closeSync(descriptor);
  else yield* createReadStream('', { fd: descriptor, start: 0, end: size - 1 }) as AsyncIterable<Buffer>;
}

/** All bytes of a file of at most so many. Throws UnreadableFile. */
export function readFileWithin(path: string, most: number): Buffer {
  const { descriptor } = openFile(path);
  try {
    return onFileSystem(path, () => {
      const parts: Buffer[] = [];
      let size = 0;
      for (;;) {
        // One byte more than is allowed, because a file may grow, and those of the system say that they are empty.
        const part = Buffer.alloc(Math.min(65_536, most + 1 - size));
        const read = readSync(descriptor, part);
        if (read === 0) return Buffer.concat(parts);
        size += read;
        if (size > most) {
          const all = Math.max(size, fstatSync(descriptor).size);
          throw new UnreadableFile(path, `too large: at most ${most} bytes (${most / 1024 / 1024} MiB), got ${all}`);
        }
        parts.push(part.subarray(0, read));
      }
    });
  } finally {
    closeSync(descriptor);
  }
}
