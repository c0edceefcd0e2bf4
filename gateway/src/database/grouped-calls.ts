// Records that one caller makes while a transaction of its records is under way share the next transaction, so that a caller with many
// connections needs fewer. A record that finds none under way is written at once.
import { KnownError } from '../base/errors.ts';
import type { FairPool, Settings } from './fair-pool.ts';
import { callInTransaction, type RecordCall } from './transaction.ts';

const MOST_CALLS = 50;

/** What a call belongs to. It differs between the calls of one caller. */
const REFERENCES = ['jwt.claims.correlation_id', 'jwt.claims.session_id', 'jwt.claims.trace_id'];

const callerIn = (settings: Settings) =>
  JSON.stringify(Object.entries(settings).filter(([name]) => !REFERENCES.includes(name)));

interface Group {
  calls: RecordCall[];
  /** False once its transaction has begun. */
  isOpen: boolean;
  /** How each of the calls ended, in their order. */
  results: Promise<PromiseSettledResult<void>[]>;
}

/** Calls the function of this name, which returns nothing and writes a record. Each call fails or succeeds for itself. */
export function createGroupedCalls(pool: FairPool, name: string): (call: RecordCall) => Promise<void> {
  /** The last group of each caller. */
  const groups = new Map<string, Group>();

  async function write(calls: readonly RecordCall[]): Promise<PromiseSettledResult<void>[]> {
    try {
      await callInTransaction(pool, name, calls);
      return calls.map(() => ({ status: 'fulfilled', value: undefined }));
    } catch (reason) {
      // A database that is busy or away would refuse each of them, too.
      if (calls.length === 1 || reason instanceof KnownError) return calls.map(() => ({ status: 'rejected', reason }));
      return Promise.allSettled(calls.map((call) => callInTransaction(pool, name, [call])));
    }
  }

  function open(caller: string, before: Group | undefined): Group {
    const calls: RecordCall[] = [];
    const writeAfter = async () => {
      await before?.results;
      group.isOpen = false;
      const results = await write(calls);
      if (groups.get(caller) === group) groups.delete(caller);
      return results;
    };
    const group: Group = { calls, isOpen: true, results: writeAfter() };
    groups.set(caller, group);
    return group;
  }

  return async (call) => {
    const caller = callerIn(call.settings);
    const last = groups.get(caller);
    const group = last?.isOpen && last.calls.length < MOST_CALLS ? last : open(caller, last);
    const place = group.calls.push(call) - 1;
    const result = (await group.results)[place]!;
    if (result.status === 'rejected') throw result.reason;
  };
}
