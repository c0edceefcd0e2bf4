// Stores sessions for good: the database filters and scans them, this encrypts them and puts the bytes into stores.
import type { Logger } from 'pino';
import { type Finding, isRefusal, KnownError } from '../base/errors.ts';
import { collectQuickly, isLarge } from '../base/garbage.ts';
import type { MasterKey } from '../config/master-keys.ts';
import type { Draft, SessionReader, Wanted } from '../extraction/session-reader.ts';
import { type Carrier, carrier } from './carry.ts';
import { createCopies } from './copies.ts';
import { saveDrafts } from './drafts.ts';
import { encrypt, fingerprint, SCHEMA_VERSION } from './keys.ts';
import { createOpening, type Opened, type Problem, Unsound } from './opening.ts';
import { type Rotated, rotator } from './rotate.ts';
import type { Address, Query, Store } from './stores/index.ts';
import { type Verified, verifier } from './verify.ts';

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
  findings: Finding[] | null;
  predecessor: string | null;
}

export interface StoredSession extends Archived {
  /** The ids of the memories that were drafted from it. */
  drafted: string[];
}

export interface ArchiveDependencies {
  /** Reads the master keys; throws L9KEY. */
  keys: () => MasterKey[];
  stores: readonly Store[];
  logger: Logger;
  onProblem: (problem: Problem) => void;
  /** Called with the id of the master key before it encrypts an archive, or wraps the key of one. */
  onKeyUsed?: ((id: string) => void) | undefined;
  /** Lets a chat model summarise a session and draft memories from it. Absent without a chat model. */
  reader?: SessionReader | undefined;
}

type Message = { role: string; text: string };

export interface Archive {
  /** Takes the messages out of the session that it is given, so that a large one is not in memory twice. */
  storeSession(query: Query, session: object, options?: StoreOptions): Promise<StoredSession>;
  /** The document as it was stored. */
  retrieveSession(
    query: Query,
    pointer: string,
  ): Promise<{ session: Record<string, unknown>; writer: Opened['writer'] }>;
  /** Reads every copy of one archive, or of the next ones, and writes those again that are missing or bad. */
  verify(query: Query, only: string | null, after: string | null, atMost: number): Promise<Verified>;
  /** The bytes and the key of an archive, for another place. */
  carryOut: Carrier['carryOut'];
  /** Stores the bytes of an archive that another place has carried out, and wraps its key. */
  carryIn: Carrier['carryIn'];
  /** Wraps the keys of the next archives with the first master key. */
  rotate(query: Query, after: string | null, atMost: number): Promise<Rotated>;
}

interface Prepared {
  archive_id: string | null;
  tenant_id: string;
  /** In pieces, because copies of a large one as a whole would cost a multiple of its size; empty if it may not be stored. */
  document: Buffer[];
  findings: Archived['findings'];
  redacted: number;
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

export function createArchive({
  keys,
  stores,
  logger,
  onProblem,
  onKeyUsed = () => {},
  reader,
}: ArchiveDependencies): Archive {
  // The database enters an archive together with its own copy of the bytes, and hands both out together.
  const outside = stores.filter(({ name }) => name !== 'postgres');
  const isInDatabase = outside.length < stores.length;
  const readsDatabaseFirst = stores[0]?.name === 'postgres';

  async function putOutside(address: Address, blob: Buffer, query: Query): Promise<void> {
    const { archiveId, hash } = address;
    if (outside.length === 0) return;
    // From here on a job deletes them, unless their archive is entered.
    const names = outside.map(({ name }) => name);
    await query('select archive.announce_archive_blob($1, $2, $3)', [archiveId, hash, names]);
    for (const [place, store] of outside.entries()) {
      try {
        await store.put(address, blob, query);
      } catch (error) {
        // No archive names these bytes, and their key is gone, so nobody could decrypt a copy that stays.
        await deleteOutside(hash, outside.slice(0, place));
        throw error;
      }
    }
  }

  /** Gives back what nothing names. A job does the same later, where a store is down now. */
  const deleteOutside = (hash: Buffer, from = outside) => Promise.allSettled(from.map((stored) => stored.delete(hash)));

  const opening = createOpening({ keys, readsDatabaseFirst, onProblem });
  const copies = createCopies(stores, logger);

  async function openSession(pointer: string, query: Query) {
    const opened = await opening.open(pointer, null, query);
    const document = await opening.note(opened, query, async () => opened.decrypt(await copies.fetch(opened, query)));
    return { session: JSON.parse(document) as Record<string, unknown>, length: document.length, writer: opened.writer };
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

  /** What a chat model reads out of a session, as far as the tenant lets it; null where there is nothing. */
  async function readByModel({ archive_id, tenant_id, document }: Prepared, query: Query, needsSummary: boolean) {
    const [may] = await query<Wanted>(
      'select archive.may_be_summarized($1) and $2 as summary, archive.may_be_drafted_from($1) as drafts',
      [archive_id, needsSummary],
    );
    if (!reader || !(may!.summary || may!.drafts)) return null;
    const session = JSON.parse(Buffer.concat(document).toString()) as { messages?: Message[] };
    const messages = (session.messages ?? []).filter(({ text }) => text?.trim());
    if (messages.length === 0) return null;
    const reading = await reader.read(tenant_id, messages, may!);
    return reading && { ...reading, session };
  }

  /** The same session with the summary of a chat model, scanned again; null if it may not be stored. */
  async function withBetterSummary(session: object, summary: string, query: Query, options: StoreOptions) {
    const better = await prepare(query, { ...session, summary }, { ...options, redact: false });
    return better.archive_id === null ? null : better;
  }

  const draftFrom = async ({ status, packet_id: packetId }: Archived, drafts: readonly Draft[], query: Query) =>
    reader && status === 'inserted' && packetId !== null
      ? saveDrafts(query, logger, packetId, drafts, reader.model)
      : [];

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
          predecessor: null,
          drafted: [],
        };
      const fingerprints = [master!, ...others].map((key) => fingerprint(key, tenantId, firstDocument));
      const hasOwnSummary = isDerived !== true && typeof session.summary === 'string' && session.summary.trim() !== '';
      if (reader || outside.length > 0) {
        // The database looks again when it enters the archive; this spares a model and other stores the work.
        const [known] = await query<Archived>('select * from archive.find_archived($1, $2)', [firstId, fingerprints]);
        if (known?.status) return { ...known, drafted: [] };
      }
      const reading = reader ? await readByModel(first, query, !hasOwnSummary) : null;
      const better =
        reading?.summary == null ? null : await withBetterSummary(reading.session, reading.summary, query, options);
      const { document } = better ?? first;
      const archiveId = better?.archive_id ?? firstId;
      const place = { tenantId, archiveId, schemaVersion: SCHEMA_VERSION };
      onKeyUsed(master!.id);
      const { blob, hash, wrappedKey } = encrypt(master!, document, place);
      // The bytes come first, so that no crash leaves a row without them.
      await putOutside({ archiveId, hash }, blob, query);
      const names = stores.map(({ name }) => name);
      try {
        const [archived] = await query<Archived>(
          'select * from archive.finish_session_archive($1, $2, $3, $4, $5, $6, $7, $8)',
          [archiveId, hash, blob.length, names, master!.id, wrappedKey, fingerprints, isInDatabase ? blob : null],
        );
        if (archived!.status !== 'inserted') await deleteOutside(hash);
        return { ...archived!, drafted: await draftFrom(archived!, reading?.drafts ?? [], query) };
      } catch (error) {
        // Only an answer of the database says that the archive was not entered: a connection that was lost does not.
        if (isRefusal(error)) await deleteOutside(hash);
        throw error;
      }
    },

    async retrieveSession(query, pointer) {
      try {
        const { session, length, writer } = await openSession(pointer, query);
        if (isLarge(length)) collectQuickly();
        return { session, writer };
      } catch (error) {
        if (!(error instanceof Unsound)) throw error;
        throw new KnownError(error.problem === 'key' ? 'L9KEY' : 'L9INT', `pointer: ${error.message}`, 'pointer');
      }
    },

    verify: verifier({ ...opening, copies }),
    rotate: rotator(keys, onKeyUsed),
    ...carrier({ open: opening.open, copies, keys, onKeyUsed }),
  };
}
