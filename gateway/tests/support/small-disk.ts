import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEGABYTE = Buffer.alloc(1024 * 1024);

export interface SmallDisk {
  folder: string;
  /** Fills it with a file of its own until only so many megabytes are left. */
  fill(left: number): void;
  /** Deletes that file. */
  clear(): void;
  /** Lets nobody write to it any more. */
  protect(): void;
  drop(): void;
}

function mount(folder: string, megabytes: number): string | null {
  const { status, stderr, error } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder], {
    encoding: 'utf8',
  });
  return status === 0 ? null : (error?.message ?? stderr.trim());
}

/** A file system of this size in memory. Only root can mount one: see `whyNoSmallDisk`. */
export function mountSmallDisk(megabytes: number, parent = tmpdir()): SmallDisk {
  const folder = mkdtempSync(join(parent, 'l9-disk-'));
  const failure = mount(folder, megabytes);
  if (failure) {
    rmSync(folder, { recursive: true });
    throw new Error(failure);
  }
  const file = join(folder, 'fill');
  const free = () => {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  };
  const clear = () => rmSync(file, { force: true });
  return {
    folder,
    clear,
    fill(left) {
      clear();
      const handle = openSync(file, 'w');
      try {
        for (let over = free() - left * MEGABYTE.length; over > 0; over = free() - left * MEGABYTE.length) {
          writeSync(handle, MEGABYTE, 0, Math.min(over, MEGABYTE.length));
        }
      } finally {
        closeSync(handle);
      }
    },
    protect() {
      spawnSync('mount', ['-o', 'remount,ro', folder]);
    },
    drop() {
      spawnSync('umount', ['-l', folder]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Why no small disk can be had here, or null if it can. */
export function whyNoSmallDisk(parent = tmpdir()): string | null {
  try {
    mountSmallDisk(1, parent).drop();
    return null;
  } catch (error) {
    return `no tmpfs can be mounted: ${(error as Error).message}`;
  }
}
