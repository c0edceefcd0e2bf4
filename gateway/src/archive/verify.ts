// Verifies archives: reads every copy in every store, writes missing and bad ones again, and says which stores have the bytes.
import { KnownError, sqlstateOf } from '../base/errors.ts';
import type { Copies, Copy } from './copies.ts';
import { type createOpening, type Opened, type Problem, Unsound } from './opening.ts';
import type { Query } from './stores/index.ts';

export interface ArchiveProblem {
  pointer: string;
  problem: Problem | 'unavailable';
  /** The store whose copy it is; null: no store has a copy that opens. */
  store: string | null;
  repaired: boolean;
}

export interface Verified {
  /** Archives that have a copy that opens. */
  verified: number;
  problems: ArchiveProblem[];
  /** Copies in stores that did not have the archive before. */
  copied: number;
  /** Null after the last. */
  next: string | null;
}

type Verifier = (query: Query, only: string | null, after: string | null, atMost: number) => Promise<Verified>;
type VerifierDependencies = ReturnType<typeof createOpening> & { copies: Copies };

export function verifier({ open, note, report, copies }: VerifierDependencies): Verifier {
  async function settle(opened: Opened, pointer: string, query: Query, answer: Verified): Promise<void> {
    const { blob, copies: found } = await copies.check(opened, query);
    opened.decrypt(blob);
    const [named, others] = partition(found, ({ store }) => opened.connectors.includes(store.name));
    // A store is named before it gets a copy, so that this is deleted with the archive even if the process ends in between.
    const mayMove = others.length === 0 || (await name(opened, [...opened.connectors, ...namesOf(others)], query));
    const without: Copy[] = [];
    for (const copy of found) {
      const { store, state } = copy;
      if (state === 'good') continue;
      const isNamed = named.includes(copy);
      const mayWrite = state !== 'unavailable' && (isNamed || mayMove);
      const isWritten = mayWrite && (await copies.write(store, opened, blob, query));
      if (isWritten && !isNamed) answer.copied += 1;
      else answer.problems.push({ pointer, problem: state, store: store.name, repaired: isWritten });
      if (isNamed && state !== 'unavailable') await report(opened.archiveId, state, store.name, query);
      if (!isNamed && !isWritten) without.push(copy);
    }
    // A store that is configured no more is named no more.
    const names = namesOf(found.filter((copy) => !without.includes(copy)));
    const isNews = others.length > 0 || names.length < opened.connectors.length;
    if (mayMove && isNews) await name(opened, names, query);
    await query('select archive.note_verification($1)', [opened.archiveId]);
    answer.verified += 1;
  }

  /** False for an archive of somebody else. */
  async function name({ archiveId }: Opened, connectors: string[], query: Query): Promise<boolean> {
    const [row] = await query<{ named: boolean }>('select archive.name_copies($1, $2) as named', [
      archiveId,
      connectors,
    ]);
    return row!.named;
  }

  async function verifyOne(pointer: string, archiveId: string | null, query: Query, answer: Verified) {
    const whole = { pointer, store: null, repaired: false };
    try {
      const opened = await open(pointer, archiveId, query);
      await note(opened, query, () => settle(opened, pointer, query, answer));
    } catch (error) {
      if (error instanceof Unsound) answer.problems.push({ ...whole, problem: error.problem });
      else if (error instanceof KnownError && error.sqlstate === 'L9BSY')
        answer.problems.push({ ...whole, problem: 'unavailable' });
      else throw error;
    }
  }

  return async (query, only, after, atMost) => {
    const answer: Verified = { verified: 0, problems: [], copied: 0, next: null };
    if (only) {
      await verifyOne(only, null, query, answer);
      return answer;
    }
    const rows = await query<{ archive_id: string; pointer: string }>(
      'select * from archive.archives_to_verify($1, $2)',
      [after, atMost],
    );
    for (const { archive_id, pointer } of rows) {
      await verifyOne(pointer, archive_id, query, answer).catch((error: unknown) => {
        // One of a page may have been deleted meanwhile.
        if (sqlstateOf(error) !== 'L9OWN') throw error;
      });
    }
    answer.next = rows.length < atMost ? null : rows.at(-1)!.archive_id;
    return answer;
  };
}

function partition<T>(all: readonly T[], isFirst: (one: T) => boolean): [T[], T[]] {
  return [all.filter(isFirst), all.filter((one) => !isFirst(one))];
}

const namesOf = (copies: readonly Copy[]) => copies.map(({ store }) => store.name);
