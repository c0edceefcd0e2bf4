// What happens when the disk of the database has no room left.
import { statfsSync } from 'node:fs';
import type { Logger } from 'pino';
import { KnownError, SQLSTATE } from '../base/errors.ts';
import type { FairPool, Intent } from './fair-pool.ts';

/** Room for saves ends here, while there is still room for what they do later: two files of the write-ahead log, and vectors. */
export const ROOM_FOR_SAVES = 64 * 1024 * 1024;
/** A read is recorded, which may need the next file of the write-ahead log. The engine ends where it can't have it. */
export const ROOM_FOR_READS = 32 * 1024 * 1024;
// After a server had no room for one request.
const FULL_FOR_MS = 10_000;

export interface Disk {
  /** Of the folder of the embedded engine; null on a server, whose disk the gateway can't see. */
  freeBytes(): number | null;
  /** `low`: saves are refused and jobs pause; `full`: reads too, because no room is left for the record of them. */
  state(): 'ok' | 'low' | 'full';
}

const megabytes = (bytes: number) => `${Math.ceil(bytes / 1024 / 1024)} MB`;

const TRY_LATER = 'Nothing was saved. Make room on the disk, then send it again.';

/** PostgreSQL had no room for a request. It may have had room for most of it, so nothing is said about how much is needed. */
export const diskFull = () =>
  new KnownError(SQLSTATE.noRoom, 'no space left on the disk of the database', null, TRY_LATER);

/** A start, or a request, that needs more room than the folder of the embedded engine has. */
export const noSpace = (folder: string, needed: number) =>
  new KnownError(SQLSTATE.noRoom, `no space left in ${folder}: needs about ${megabytes(needed)}`);

export function freeBytesOf(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** Refuses a start for which the folder has no room. */
export function requireSpace(folder: string, needed: number): void {
  if (freeBytesOf(folder) < needed) throw noSpace(folder, needed);
}

export function watchFolder(folder: string, logger: Logger): Disk {
  let last: ReturnType<Disk['state']> = 'ok';
  const freeBytes = () => freeBytesOf(folder);
  return {
    freeBytes,
    state() {
      const free = freeBytes();
      const now = free < ROOM_FOR_READS ? 'full' : free < ROOM_FOR_SAVES ? 'low' : 'ok';
      if (now !== last) {
        const freeMb = Math.floor(free / 1024 / 1024);
        if (now === 'ok') logger.info({ folder, freeMb }, 'the disk has room again');
        else
          logger.error(
            { folder, freeMb },
            `the disk has no room: ${now === 'low' ? 'saves' : 'all calls'} are refused`,
          );
        last = now;
      }
      return now;
    },
  };
}

/** The disk of a server, of which only its refusals are known. */
export function watchRefusals(): Disk & { refused(): void } {
  let fullUntil = 0;
  return {
    freeBytes: () => null,
    state: () => (Date.now() < fullUntil ? 'low' : 'ok'),
    refused() {
      fullUntil = Date.now() + FULL_FOR_MS;
    },
  };
}

/** The same pool, which gives callers a connection only while the disk has room for what they ask. */
export function withRoom(pool: FairPool, { state }: Disk): FairPool {
  const connectFor = async (client: string, intent: Intent) => {
    const now = state();
    if (now === 'full') {
      throw new KnownError(
        SQLSTATE.noRoom,
        `no space left on the disk of the database: there is no room for the record that each call leaves; needs ${megabytes(ROOM_FOR_READS)} for reads, ${megabytes(ROOM_FOR_SAVES)} for saves`,
        null,
        TRY_LATER,
      );
    }
    if (now === 'low' && intent === 'write') {
      throw new KnownError(
        SQLSTATE.noRoom,
        `no space left on the disk of the database: saves need ${megabytes(ROOM_FOR_SAVES)}; reads still work`,
        null,
        TRY_LATER,
      );
    }
    return pool.connectFor!(client, intent);
  };
  return new Proxy(pool, { get: (target, key) => (key === 'connectFor' ? connectFor : Reflect.get(target, key)) });
}
