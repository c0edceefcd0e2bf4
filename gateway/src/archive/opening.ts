// Opens archives: the row and the key come from the database, the bytes from any store, and nothing that was changed is returned.
import type { MasterKey } from '../config/master-keys.ts';
import { decrypt, hashOf, type Place, unwrapKey } from './keys.ts';
import { postgresStore } from './stores/postgres.ts';
import type { Query } from './stores/store.ts';

/** What is wrong with an archive. */
export type Problem = 'missing' | 'hash' | 'tag' | 'key';

const SAYS: Record<Problem, string> = {
  missing: 'no store has its bytes',
  hash: 'its stored bytes are not those that were archived',
  tag: 'its stored bytes do not open: they were changed, or belong to another archive',
  key: 'its key does not open: the master key is missing or wrong, or the key was changed',
};

export class Unsound extends Error {
  readonly problem: Problem;

  constructor(problem: Problem, says = SAYS[problem]) {
    super(says);
    this.problem = problem;
  }
}

interface Row {
  archive_id: string;
  tenant_id: string;
  content_hash: Buffer;
  schema_version: string;
  connectors: string[];
  key_id: string;
  /** Null: the archive was imported without its key. */
  wrapped_key: Buffer | null;
  /** The bytes that the database has, where they were asked for. */
  blob: Buffer | null;
  creator: string;
  source: string | null;
}

export interface Opened {
  archiveId: string;
  hash: Buffer;
  /** The stores that have the bytes, by what the database knows. */
  connectors: string[];
  blob: Buffer | null;
  /** Who archived the session. */
  writer: Pick<Row, 'creator' | 'source'>;
  /** The key of this archive alone. */
  dataKey: Buffer;
  /** Throws Unsound if they do not open. */
  decrypt(blob: Buffer): string;
}

const database = postgresStore();

/** What can be said of bytes that nobody can decrypt here. Other stores are not asked. */
async function withoutKey({ archive_id: archiveId, content_hash: hash, blob }: Row, query: Query): Promise<Unsound> {
  const bytes = blob ?? (await database.get({ archiveId, hash }, query));
  if (!bytes) return new Unsound('missing');
  if (!hashOf(bytes).equals(hash)) return new Unsound('hash');
  return new Unsound('key', 'its key is missing: it was imported from an export without keys');
}

interface OpeningDependencies {
  keys: () => MasterKey[];
  readsDatabaseFirst: boolean;
  onProblem: (problem: Problem) => void;
}

export function createOpening({ keys, readsDatabaseFirst, onProblem }: OpeningDependencies) {
  /** Records a problem of one store, or of the whole archive. */
  async function report(archiveId: string, problem: Problem, store: string | null, query: Query) {
    onProblem(problem);
    await query('select archive.note_verification($1, $2, $3)', [archiveId, problem, store]);
  }

  /** Does the work, and records a problem in the audit log and the metrics. */
  async function note<T>({ archiveId }: Pick<Opened, 'archiveId'>, query: Query, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof Unsound) await report(archiveId, error.problem, null, query);
      throw error;
    }
  }

  return {
    report,
    note,
    /** The archive with this pointer, and with this id where one is given. */
    async open(pointer: string, archiveId: string | null, query: Query): Promise<Opened> {
      const [row] = await query<Row>('select * from archive.open_session_archive($1, $2, $3)', [
        pointer,
        readsDatabaseFirst,
        archiveId,
      ]);
      const { archive_id, tenant_id, schema_version, key_id, wrapped_key, creator, source } = row!;
      const place: Place = { tenantId: tenant_id, archiveId: archive_id, schemaVersion: schema_version };
      return note({ archiveId: archive_id }, query, async () => {
        // No store is asked before the key opened: a row that somebody else made with this hash tells nothing of its bytes.
        if (!wrapped_key) throw await withoutKey(row!, query);
        const master = keys().find(({ id }) => id === key_id);
        const dataKey = master && unwrapKey(master, wrapped_key, place);
        if (!dataKey) throw new Unsound('key');
        return {
          archiveId: archive_id,
          hash: row!.content_hash,
          connectors: row!.connectors,
          blob: row!.blob,
          writer: { creator, source },
          dataKey,
          decrypt(bytes) {
            const document = decrypt(dataKey, bytes, place);
            if (document === null) throw new Unsound('tag');
            return document;
          },
        };
      });
    },
  };
}
