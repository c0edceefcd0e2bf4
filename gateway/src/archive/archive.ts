// Stores sessions for good: the database filters and scans them, this encrypts them and puts the bytes into stores.
import type { Logger } from 'pino';
import { KnownError } from '../errors.ts';
import { collectQuickly, isLarge } from '../garbage.ts';
import { decrypt, encrypt, fingerprint, hashOf, type MasterKey, type Place, unwrapKey, wrapKey } from './keys.ts';
import type { Query, Store } from './stores/index.ts';

export interface StoreOptions {
  scope?: string | null | undefined;
  project_id?: string | null | undefined;
  tags?: readonly string[] | null | undefined;
  /** Replace what looks like a secret, instead of refusing the session. */
  redact?: boolean | null | undefined;
}

export interface Archived {
  status: 'inserted' | 'skipped_dedupe' | 'refused';
  pointer: string | null;
  content_hash: string | null;
  indexed: boolean;
  redacted: number;
  packet_id: string | null;
  findings: { pattern: string; path: string }[] | null;
}

/** What is wrong with the bytes of an archive. */
export type Problem = 'missing' | 'hash' | 'tag' | 'key';

export interface ArchiveDependencies {
  /** Reads the master keys; throws L9KEY. */
  keys: () => MasterKey[];
  stores: readonly Store[];
  logger: Logger;
  onProblem: (problem: Problem) => void;
  /** Lets a chat model write the summary of these messages; null if it can't now. Absent without a chat model. */
  summarize?: ((tenantId: string, messages: readonly Message[]) => Promise<string | null>) | undefined;
}

type Message = { role: string; text: string };

export interface Archive {
  /** Takes the messages out of the session that it is given, so that a large one is not in memory twice. */
  storeSession(query: Query, session: object, options?: StoreOptions): Promise<Archived>;
  /** The document as it was stored. */
  retrieveSession(query: Query, pointer: string): Promise<Record<string, unknown>>;
  /** Reads the bytes of one archive, or of the next ones; `next` is null after the last. */
  verify(query: Query, only: string | null, after: string | null, atMost: number): Promise<Verified>;
  /** Wraps the keys of the next archives with the first master key. */
  rotate(query: Query, after: string | null, atMost: number): Promise<Rotated>;
}

export interface Rotated {
  rotated: number;
  /** Archives whose former master key is not given, or whose key does not open. */
  failed: number;
  next: string | null;
}

export interface Verified {
  verified: number;
  problems: { pointer: string; problem: Problem | 'unavailable' }[];
  next: string | null;
}

interface Prepared {
  archive_id: string | null;
  tenant_id: string;
  /** In pieces, because copies of a large one as a whole would cost a multiple of its size; empty if it may not be stored. */
  document: Buffer[];
  findings: Archived['findings'];
  redacted: number;
}

interface Opened {
  archive_id: string;
  tenant_id: string;
  content_hash: Buffer;
  schema_version: number;
  connectors: string[];
  key_id: string;
  wrapped_key: Buffer;
  /** The bytes that the database has, where they were asked for. */
  blob: Buffer | null;
}

const SCHEMA_VERSION = 1;
const SAYS: Record<Problem, string> = {
  missing: 'no store has its bytes',
  hash: 'its stored bytes are not those that were archived',
  tag: 'its stored bytes do not open: they were changed, or belong to another archive',
  key: 'its key does not open: the master key is missing or wrong, or the key was changed',
};

class Unsound extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(SAYS[problem]);
    this.problem = problem;
  }
}

/** The bytes of a session as JSON. Its messages are taken out of it meanwhile. */
function takeJson(session: { messages?: unknown }): Buffer {
  const { messages, ...others } = session;
  if (!Array.isArray(messages)) return Buffer.from(JSON.stringify(session));
  const parts = [Buffer.from(JSON.stringify({ ...others, messages: [] }).slice(0, -2))];
  for (const [place, message] of messages.entries()) {
    parts.push(Buffer.from(`${place > 0 ? ',' : ''}${JSON.stringify(message)}`));
    messages[place] = null;
  }
  messages.length = 0;
  return Buffer.concat([...parts, Buffer.from(']}')]);
}

export function createArchive({ keys, stores, logger, onProblem, summarize }: ArchiveDependencies): Archive {
  // The database enters an archive together with its own copy of the bytes, and hands both out together.
  const outside = stores.filter(({ name }) => name !== 'postgres');
  const isInDatabase = outside.length < stores.length;
  const readsDatabaseFirst = stores[0]?.name === 'postgres';

  async function putOutside(hash: Buffer, blob: Buffer, query: Query): Promise<void> {
    if (outside.length === 0) return;
    // From here on a job deletes them, unless their archive is entered.
    await query('select archive.announce_archive_blob($1, $2)', [hash, outside.map(({ name }) => name)]);
    for (const [place, store] of outside.entries()) {
      try {
        await store.put(hash, blob, query);
      } catch (error) {
        // Nothing names these bytes, so a copy that stays is noise.
        await Promise.allSettled(outside.slice(0, place).map((stored) => stored.delete(hash)));
        throw error;
      }
    }
  }

  /** The first good copy; other stores that should have one and do not are given it. */
  async function fetchBlob(
    { content_hash: hash, connectors, blob: inDatabase }: Opened,
    query: Query,
  ): Promise<Buffer> {
    const bad: Store[] = [];
    let worst: Problem = 'missing';
    let unavailable: unknown;
    for (const store of stores.filter(({ name }) => connectors.includes(name))) {
      try {
        const blob = (store.name === 'postgres' && inDatabase) || (await store.get(hash, query));
        if (blob && hashOf(blob).equals(hash)) {
          await repair(bad, hash, blob, query);
          return blob;
        }
        if (blob) worst = 'hash';
        bad.push(store);
      } catch (error) {
        unavailable ??= error;
      }
    }
    // A store that is down may have a good copy.
    if (unavailable && worst === 'missing') throw unavailable;
    throw new Unsound(worst);
  }

  async function repair(bad: readonly Store[], hash: Buffer, blob: Buffer, query: Query) {
    for (const store of bad) {
      await store.put(hash, blob, query).then(
        () => logger.warn({ store: store.name }, 'a copy of an archive was missing or bad, and was written again'),
        () =>
          logger.warn({ store: store.name }, 'a copy of an archive is missing or bad, and could not be written again'),
      );
    }
  }

  async function openDocument(opened: Opened, query: Query): Promise<string> {
    const place: Place = {
      tenantId: opened.tenant_id,
      archiveId: opened.archive_id,
      schemaVersion: opened.schema_version,
    };
    const master = keys().find(({ id }) => id === opened.key_id);
    const dataKey = master && opened.wrapped_key && unwrapKey(master, opened.wrapped_key, place);
    if (!dataKey) throw new Unsound('key');
    const blob = await fetchBlob(opened, query);
    const document = decrypt(dataKey, blob, place);
    if (document === null) throw new Unsound('tag');
    return document;
  }

  async function open(pointer: string, query: Query): Promise<{ opened: Opened; document: string }> {
    const [opened] = await query<Opened>('select * from archive.open_session_archive($1, $2)', [
      pointer,
      readsDatabaseFirst,
    ]);
    try {
      return { opened: opened!, document: await openDocument(opened!, query) };
    } catch (error) {
      if (error instanceof Unsound) {
        onProblem(error.problem);
        await query('select archive.note_verification($1, $2)', [opened!.archive_id, error.problem]);
      }
      throw error;
    }
  }

  async function openSession(pointer: string, query: Query) {
    const { document } = await open(pointer, query);
    return { session: JSON.parse(document) as Record<string, unknown>, length: document.length };
  }

  /** Filters and scans a session, which only then may be stored, or shown to a chat model. */
  async function prepare(query: Query, session: object, options: StoreOptions): Promise<Prepared> {
    const { scope, project_id, tags, redact } = options;
    const rows = await query<Omit<Prepared, 'document'> & { piece: Buffer | null }>(
      `select p.archive_id, p.tenant_id, p.findings, p.redacted, d.piece
       from archive.prepare_session_archive(convert_from($1, 'UTF8')::jsonb, $2, $3, $4, $5) p
       left join lateral archive.pieces_of(convert_to(p.document, 'UTF8')) as d (piece) on true`,
      [takeJson(session), scope ?? null, project_id ?? null, tags ?? null, redact ?? false],
      { mayBeLost: true },
    );
    return { ...rows[0]!, document: rows.flatMap(({ piece }) => piece ?? []) };
  }

  /** The same session with the summary of a chat model, scanned again; null where there is none, or it may not be stored. */
  async function withBetterSummary({ archive_id, tenant_id, document }: Prepared, query: Query, options: StoreOptions) {
    if (!summarize) return null;
    const session = JSON.parse(Buffer.concat(document).toString()) as { messages?: Message[] };
    const messages = (session.messages ?? []).filter(({ text }) => text?.trim());
    if (messages.length === 0) return null;
    const [may] = await query<{ may: boolean }>('select archive.may_be_summarized($1) as may', [archive_id]);
    const summary = may!.may ? await summarize(tenant_id, messages) : null;
    if (summary === null) return null;
    const better = await prepare(query, { ...session, summary }, { ...options, redact: false });
    return better.archive_id === null ? null : better;
  }

  return {
    async storeSession(query, given, options = {}) {
      const [master, ...others] = keys();
      const { summary_is_derived: isDerived, ...session } = given as Record<string, unknown>;
      const first = await prepare(query, session, options);
      const { archive_id: firstId, tenant_id: tenantId, document: firstDocument, findings, redacted } = first;
      if (firstId === null)
        return {
          status: 'refused',
          pointer: null,
          content_hash: null,
          indexed: false,
          redacted,
          packet_id: null,
          findings,
        };
      const fingerprints = [master!, ...others].map((key) => fingerprint(key, tenantId, firstDocument));
      const hasOwnSummary = isDerived !== true && typeof session.summary === 'string' && session.summary.trim() !== '';
      const asksModel = summarize !== undefined && !hasOwnSummary;
      if (asksModel || outside.length > 0) {
        // The database looks again when it enters the archive; this spares a model and other stores the work.
        const [known] = await query<Archived>('select * from archive.find_archived($1, $2)', [firstId, fingerprints]);
        if (known?.status) return known;
      }
      const better = asksModel ? await withBetterSummary(first, query, options) : null;
      const { document } = better ?? first;
      const archiveId = better?.archive_id ?? firstId;
      const place = { tenantId, archiveId, schemaVersion: SCHEMA_VERSION };
      const { blob, hash, wrappedKey } = encrypt(master!, document, place);
      // The bytes come first, so that no crash leaves a row without them.
      await putOutside(hash, blob, query);
      const names = stores.map(({ name }) => name);
      const [archived] = await query<Archived>(
        'select * from archive.finish_session_archive($1, $2, $3, $4, $5, $6, $7, $8)',
        [archiveId, hash, blob.length, names, master!.id, wrappedKey, fingerprints, isInDatabase ? blob : null],
      );
      return archived!;
    },

    async retrieveSession(query, pointer) {
      try {
        const { session, length } = await openSession(pointer, query);
        if (isLarge(length)) collectQuickly();
        return session;
      } catch (error) {
        if (!(error instanceof Unsound)) throw error;
        throw new KnownError(error.problem === 'key' ? 'L9KEY' : 'L9INT', `pointer: ${error.message}`, 'pointer');
      }
    },

    async verify(query, only, after, atMost) {
      const rows = await (only
        ? []
        : query<{ archive_id: string; pointer: string }>('select * from archive.archives_to_verify($1, $2)', [
            after,
            atMost,
          ]));
      const answer: Verified = {
        verified: 0,
        problems: [],
        next: rows.length < atMost ? null : rows.at(-1)!.archive_id,
      };
      for (const pointer of only ? [only] : rows.map((row) => row.pointer)) {
        try {
          const { opened } = await open(pointer, query);
          await query('select archive.note_verification($1)', [opened.archive_id]);
          answer.verified += 1;
        } catch (error) {
          if (error instanceof Unsound) answer.problems.push({ pointer, problem: error.problem });
          else if (error instanceof KnownError && error.sqlstate === 'L9BSY')
            answer.problems.push({ pointer, problem: 'unavailable' });
          // One of a page may have been deleted meanwhile.
          else if (only || !(error instanceof KnownError && error.sqlstate === 'L9OWN')) throw error;
        }
      }
      return answer;
    },

    async rotate(query, after, atMost) {
      const [current, ...others] = keys();
      const rows = await query<{ archive_id: string; tenant_id: string; key_id: string; wrapped_key: Buffer }>(
        'select * from archive.keys_to_rotate($1, $2, $3)',
        [current!.id, after, atMost],
      );
      let rotated = 0;
      let failed = 0;
      for (const { archive_id: archiveId, tenant_id: tenantId, key_id, wrapped_key } of rows) {
        const place = { tenantId, archiveId, schemaVersion: SCHEMA_VERSION };
        const former = others.find(({ id }) => id === key_id);
        const dataKey = former && unwrapKey(former, wrapped_key, place);
        if (dataKey) {
          await query('select archive.replace_key($1, $2, $3, $4)', [
            archiveId,
            key_id,
            current!.id,
            wrapKey(current!, dataKey, place),
          ]);
          rotated += 1;
        } else failed += 1;
      }
      return { rotated, failed, next: rows.length < atMost ? null : rows.at(-1)!.archive_id };
    },
  };
}
