// The copies of an archive in the stores of this gateway.
import type { Logger } from 'pino';
import { hashOf } from './keys.ts';
import { type Opened, type Problem, Unsound } from './opening.ts';
import type { Query, Store } from './stores/index.ts';

type Damage = Extract<Problem, 'missing' | 'hash'>;

/** What was found in one store. */
export interface Copy {
  store: Store;
  state: 'good' | Damage | 'unavailable';
}

export type Copies = ReturnType<typeof createCopies>;

export function createCopies(stores: readonly Store[], logger: Logger) {
  /** After a move the stores that the archive names may be gone, and others have its bytes. */
  const inOrder = ({ connectors }: Opened) => [
    ...stores.filter(({ name }) => connectors.includes(name)),
    ...stores.filter(({ name }) => !connectors.includes(name)),
  ];

  async function read(store: Store, opened: Opened, query: Query): Promise<Buffer | Damage> {
    const blob = (store.name === 'postgres' && opened.blob) || (await store.get(opened, query));
    if (!blob) return 'missing';
    return hashOf(blob).equals(opened.hash) ? blob : 'hash';
  }

  /** Writes a copy and reads it back. */
  async function write(store: Store, opened: Opened, blob: Buffer, query: Query): Promise<boolean> {
    try {
      await store.put(opened, blob, query);
      // The bytes that came with the row say nothing of what was written just now.
      const isGood = Buffer.isBuffer(await read(store, { ...opened, blob: null }, query));
      if (isGood) logger.warn({ store: store.name }, 'a copy of an archive was missing or bad, and was written again');
      return isGood;
    } catch {
      logger.warn({ store: store.name }, 'a copy of an archive is missing or bad, and could not be written again');
      return false;
    }
  }

  /** A store that is down may have a good copy. */
  function giveUp(states: readonly Copy['state'][], failure: unknown): never {
    const isChanged = states.includes('hash');
    if (failure && !isChanged) throw failure;
    throw new Unsound(isChanged ? 'hash' : 'missing');
  }

  return {
    write,
    /** The first good copy. It is written into the stores that the archive names and whose copy is missing or bad. */
    async fetch(opened: Opened, query: Query): Promise<Buffer> {
      const states: Copy['state'][] = [];
      const damaged: Store[] = [];
      let failure: unknown;
      for (const store of inOrder(opened)) {
        try {
          const found = await read(store, opened, query);
          if (Buffer.isBuffer(found)) {
            for (const other of damaged) await write(other, opened, found, query);
            return found;
          }
          states.push(found);
          if (opened.connectors.includes(store.name)) damaged.push(store);
        } catch (error) {
          failure ??= error;
        }
      }
      return giveUp(states, failure);
    },

    /** Reads every copy. `blob` is a good one; throws Unsound, or the failure of a store, if there is none. */
    async check(opened: Opened, query: Query): Promise<{ blob: Buffer; copies: Copy[] }> {
      const copies: Copy[] = [];
      let blob: Buffer | null = null;
      let failure: unknown;
      for (const store of inOrder(opened)) {
        try {
          const found = await read(store, opened, query);
          if (Buffer.isBuffer(found)) blob ??= found;
          copies.push({ store, state: Buffer.isBuffer(found) ? 'good' : found });
        } catch (error) {
          failure ??= error;
          copies.push({ store, state: 'unavailable' });
        }
      }
      const states = copies.map(({ state }) => state);
      return blob ? { blob, copies } : giveUp(states, failure);
    },
  };
}
