import { z } from 'zod';
import { errorKinds, KnownError } from '../base/errors.ts';
import {
  eventTime,
  expectedVersion,
  finding,
  language,
  object,
  parentIds,
  saveNotice,
  saveStatus,
  speaker,
  tags,
  threadId,
  uuid,
} from './fields.ts';
import { graphqlTypes, memoryRelation, timeText, uuidText } from './graphql-types.ts';
import { type Kind, withKindFields } from './kind-fields.ts';
import { defineLongOperation } from './operation.ts';
import { isObject } from './read-input.ts';
import { checkStorable } from './storable.ts';

const item = z
  .strictObject({
    kind: z.string().nullish().describe('Default: note.'),
    data: object.describe('The fields of the kind, texts unless a type is given; of a free kind, content.'),
    scope: z.string().nullish().describe('As in save_memory.'),
    project_id: z.string().nullish(),
    branch: z.string().nullish(),
    tags: tags.nullish(),
    thread_id: threadId.nullish(),
    speaker: speaker.nullish(),
    language: language.nullish(),
    timestamp: eventTime.nullish(),
    idempotency_key: z.string().nullish().describe('A repeat with the same key returns the first answer.'),
    ttl_policy: z
      .enum(['default', 'short', 'long', 'permanent'])
      .nullish()
      .describe('How long it is kept: as its kind says, a day, 90 days, or for good.'),
    parent_ids: parentIds.nullish(),
    citations: z.array(uuid).max(64, 'at most 64').nullish().describe('Ids of memories that it rests on.'),
    expected_version: expectedVersion.nullish(),
  })
  .register(graphqlTypes, {
    name: 'MemoryStoreItem',
    description: 'A memory to be stored, of a kind with fields or of a free one.',
    isInput: true,
  });

/** A malformed item is an error of this item alone, which the database answers. */
const anyItem = item.catch((context) => context?.input as never);

/** An item that PostgreSQL cannot keep as it is given, so that it gets only its error and what is audited of it. */
class UnstorableItem {
  readonly error: KnownError;
  readonly known: Record<string, unknown>;

  constructor(error: KnownError, item: object) {
    this.error = error;
    this.known = Object.fromEntries(
      Object.entries(item).filter(([name, value]) => AUDITED.includes(name) && isStorable(value)),
    );
  }
}

const AUDITED = ['kind', 'scope', 'project_id'];
const ITEM = { whole: 'items', inner: 'data', level: 1 };

const isStorable = (value: unknown) => typeof value === 'string' && errorOf(value) === null;

function errorOf(item: unknown): KnownError | null {
  try {
    checkStorable(item, ITEM);
    return null;
  } catch (error) {
    if (error instanceof KnownError) return error;
    throw error;
  }
}

function withoutUnstorable(item: unknown): unknown {
  if (item instanceof UnstorableItem) return item;
  const error = errorOf(item);
  return error ? new UnstorableItem(error, Object(item)) : item;
}

const storedItem = z
  .object({
    index: z.int().describe('The place of the item in the list, from 0.'),
    status: saveStatus,
    packet_id: uuidText(),
    kind: z.string(),
    project_id: z.string().nullable(),
    branch: z.string().nullable(),
    created_at: timeText(),
    updated_at: timeText(),
    notice: saveNotice,
  })
  .register(graphqlTypes, {
    name: 'StoredItem',
    description: 'An item that is stored.',
    relations: { memory: memoryRelation },
  });

const itemError = z
  .object({
    index: z.int().describe('The place of the item in the list, from 0.'),
    code: z.string().describe('As in the errors of other calls, such as INVALID_INPUT.'),
    sqlstate: z.string(),
    field: z.string().nullable().describe('The field that the error is about.'),
    message: z.string().describe('What is wrong, and what is valid.'),
    findings: z.array(finding).nullable().describe('Where what looks like a secret stands.'),
    current: object.nullable().describe('Of VERSION_CONFLICT: packet_id, updated_at and content of what is there.'),
  })
  .register(graphqlTypes, { name: 'StoreError', description: 'An item that was not stored, and why.' });

const errorFor = ({ error: { sqlstate, message, field } }: UnstorableItem) => ({
  sqlstate,
  message,
  field: field ?? 'items',
});

type Row = z.output<typeof storedItem> & z.output<typeof itemError> & { is_unfinished: boolean | null };

// About a second's work of the embedded engine. Between the transactions of a large call other clients run.
const ITEMS_AT_ONCE = 100;
const SECTIONS_AT_ONCE = 200;
/** The first transaction of a large text also cuts and checks all of it. */
const FIRST_SECTIONS = 25;
const LARGE_TEXT = 1_048_576;

/** Without a time, each message is another turn of its conversation. */
const isRepeatable = (items: unknown[]): boolean =>
  items.every((item) => {
    const { kind, timestamp, idempotency_key } = Object(item) as Record<string, unknown>;
    return kind !== 'message' || Boolean(timestamp) || Boolean(idempotency_key);
  });

const codeOf = (sqlstate: string) =>
  errorKinds[sqlstate]?.code ?? (sqlstate === '42501' ? 'SCOPE_DENIED' : 'INVALID_INPUT');

export const memoryStore = defineLongOperation({
  name: 'memory_store',
  title: 'Store typed memories',
  toolSet: 'core',
  description:
    'Store 1 to 500 memories that have the fields of their kind. For a plain note, save_memory is simpler. ' +
    'Storing again what is the same updates it; a field left out stays, null removes it. An item that fails is listed under errors, and the others are stored.',
  input: z.strictObject({
    items: z.array(anyItem).min(1, 'must be a list of 1 to 500 items').max(500, 'at most 500'),
    all_or_nothing: z.boolean().default(false).describe('Store nothing if an item fails.'),
  }),
  output: z.object({ stored: z.array(storedItem), errors: z.array(itemError) }),
  isIdempotent: true,
  // A document has up to 4 MiB.
  takesLargeInput: true,
  inferredProject: () => 'owns',
  isRepeatable: ({ items }) => Array.isArray(items) && isRepeatable(items),
  setAside: (input) =>
    isObject(input) && Array.isArray(input.items) ? { ...input, items: input.items.map(withoutUnstorable) } : input,
  perform: async ({ items: input, all_or_nothing }, { query }) => {
    const rulesOf = async (kind: string) => {
      const [row] = await query<{ rules: Kind['rules'] | null }>(
        'select kinds.rules_of($1, identity.current_tenant_id()) as rules',
        [kind],
      );
      return row!.rules;
    };
    // A text that was encoded twice may hold characters that cannot be stored, too.
    const given = (await withKindFields(input, rulesOf)).map(withoutUnstorable);
    const items = given.map((item: unknown) => (item instanceof UnstorableItem ? item.known : item));
    const store = async (indexes: readonly number[], isContinued: boolean) => {
      const text = JSON.stringify(indexes.map((index) => items[index]));
      const sections = isContinued || text.length < LARGE_TEXT ? SECTIONS_AT_ONCE : FIRST_SECTIONS;
      const refused = indexes.flatMap((index, place) => {
        const item: unknown = given[index];
        return item instanceof UnstorableItem ? [[place, errorFor(item)]] : [];
      });
      // As JSON, so that times are texts with all of their digits.
      const call = 'select to_jsonb(r) as row from public.memory_store($1, $2, $3, $4, $5, $6) r';
      const rows = await query<{ row: Row }>(call, [
        text,
        all_or_nothing,
        JSON.stringify(Object.fromEntries(refused)),
        all_or_nothing ? null : sections,
        indexes[0],
        isContinued,
      ]);
      return rows.map(({ row }) => row);
    };
    const rows: Row[] = [];
    const isCut = !all_or_nothing && isRepeatable(items);
    const left = [...items.keys()];
    let unfinished: number[] = [];
    while (left.length + unfinished.length > 0) {
      const isContinued = unfinished.length > 0;
      const part = isContinued ? unfinished : left.splice(0, isCut ? ITEMS_AT_ONCE : left.length);
      const answers = (await store(part, isContinued)).map((row) => ({ ...row, index: part[row.index]! }));
      for (const row of answers) {
        // A document's answer is that of its first part; an error counts in any part.
        if (!rows[row.index] || row.sqlstate !== null) rows[row.index] = row;
      }
      unfinished = answers.filter(({ is_unfinished }) => is_unfinished).map(({ index }) => index);
    }
    const answered = rows.filter((row) => row !== undefined);
    return {
      stored: answered
        .filter(({ sqlstate }) => sqlstate === null)
        .map(({ index, status, packet_id, kind, project_id, branch, created_at, updated_at, notice }) => ({
          ...{ index, status, packet_id, kind, project_id, branch, created_at, updated_at, notice },
        })),
      errors: answered
        .filter(({ sqlstate }) => sqlstate !== null)
        .map(({ sqlstate, index, field, message, findings, current }) => ({
          ...{ index, code: codeOf(sqlstate), sqlstate, field, message, findings, current },
        })),
    };
  },
  recalls: ({ errors }) => errors.some(({ current }) => current),
  summarize: ({ stored, errors }) => {
    const count = (status: string) => stored.filter((it) => it.status === status).length;
    const done = `Stored ${stored.length}: ${count('inserted')} new, ${count('updated')} updated, ${count('skipped_dedupe')} known already.`;
    const listed = errors.slice(0, 20).map(({ index, message }) => `item ${index}: ${message}`);
    const more = errors.length > listed.length ? ` and ${errors.length - listed.length} more` : '';
    const [noticed] = stored.filter(({ notice }) => notice);
    const notice = noticed ? ` Item ${noticed.index}: ${noticed.notice}` : '';
    return errors.length === 0 ? `${done}${notice}` : `${done} Not stored: ${listed.join('; ')}${more}.${notice}`;
  },
});
