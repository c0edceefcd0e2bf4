// The kinds with fields: what their text is made from, what makes two of them the same, when one is locked, and when one is
// archived.
import type { Code } from './identity.ts';
import type { Memory } from './memories.ts';

export type Fields = Record<string, string>;

interface Kind {
  fields: string[];
  required: string[];
  statuses: string[];
  content: (fields: Fields) => string;
  /** What makes two the same, as long as the status is not one of those that end it. */
  identity: (fields: Fields) => (string | undefined)[];
  ends: string[];
  /** With these statuses its fields are locked. */
  locked: string[];
  /** What may be done with one that is locked. */
  isAllowed: (field: string, value: string | undefined) => boolean;
}

const typed: Record<string, Kind> = {
  todo: {
    fields: ['text', 'status', 'priority', 'closed_at'],
    required: ['text', 'status'],
    statuses: ['open', 'in_progress', 'blocked', 'done', 'cancelled'],
    content: ({ text }) => text!,
    identity: ({ text }) => [text],
    ends: ['done', 'cancelled'],
    locked: [],
    isAllowed: () => true,
  },
  decision: {
    fields: ['title', 'status', 'rationale', 'component', 'supersedes', 'superseded_by'],
    required: ['title', 'status', 'rationale'],
    statuses: ['proposed', 'accepted', 'rejected', 'deprecated', 'superseded'],
    content: ({ title, rationale }) => `${title}\n\n${rationale}`,
    identity: ({ component, title }) => [component, title],
    ends: ['superseded'],
    locked: ['accepted', 'deprecated', 'superseded'],
    isAllowed: (field, value) =>
      field === 'superseded_by' || (field === 'status' && ['superseded', 'deprecated'].includes(value ?? '')),
  },
};

export const kindsWithFields = Object.keys(typed);

/** White space and case do not count, but the case of a path or URL does. */
const canonical = (text: string | undefined) =>
  text
    ?.trim()
    .split(/\s+/)
    .map((word) => (word.includes('/') ? word : word.toLowerCase()))
    .join(' ') ?? null;

/** Fields that are null are left out. */
export const stated = (fields: Record<string, string | null>): Fields =>
  Object.fromEntries(Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== null));

export const contentOf = (kind: string, fields: Fields) => typed[kind]!.content(fields);

/** What makes a memory the same as another of its place and kind. One that has ended is the same as no other. */
export const identityIn = ({ id, kind, fields, content }: Pick<Memory, 'id' | 'kind' | 'fields' | 'content'>) => {
  if (fields === null) return [canonical(content)];
  return hasEnded({ kind, fields }) ? [id] : typed[kind]!.identity(fields).map(canonical);
};

export const hasEnded = ({ kind, fields }: Pick<Memory, 'kind' | 'fields'>) =>
  fields !== null && typed[kind]!.ends.includes(fields.status!);

/** The same, as if it had not ended. */
export const beforeItsEnd = (memory: Memory): Memory => ({ ...memory, fields: { ...memory.fields, status: '' } });

export function faultsOfFields(kind: string, fields: Fields): Code[] {
  const rules = typed[kind]!;
  const isValid =
    rules.required.every((field) => fields[field]?.trim()) &&
    Object.keys(fields).every((field) => rules.fields.includes(field)) &&
    rules.statuses.includes(fields.status!);
  return isValid ? [] : ['L9VAL'];
}

export const isLocked = ({ kind, fields }: Pick<Memory, 'kind' | 'fields'>) =>
  fields !== null && typed[kind]!.locked.includes(fields.status!);

/** Whether a locked memory would no longer be what it was, or would be the same as others again. */
export const breaksLock = (was: Memory, fields: Fields): boolean =>
  isLocked(was) &&
  (typed[was.kind]!.fields.some(
    (field) => fields[field] !== was.fields![field] && !typed[was.kind]!.isAllowed(field, fields[field]),
  ) ||
    (hasEnded(was) && !hasEnded({ kind: was.kind, fields })));

/** Stands for the time that a todo gets by itself when it is done or cancelled without one. */
export const BY_ITSELF = 'when it ended';

/** A todo that has ended has a time of that, and loses it where it is opened again. */
export function withEnd(kind: string, fields: Fields, was?: Fields | null): Fields {
  if (kind !== 'todo') return fields;
  const { closed_at, ...open } = fields;
  if (hasEnded({ kind, fields })) return { ...fields, closed_at: closed_at ?? BY_ITSELF };
  return was && hasEnded({ kind, fields: was }) && closed_at === was.closed_at ? open : fields;
}

const DAY = 24 * 60 * 60 * 1000;
export const daysAgo = (days: number) => new Date(Date.now() - days * DAY).toISOString().slice(0, 10);

/** A todo leaves searches and lists 90 days after it was closed. */
export const isArchived = ({ fields }: Pick<Memory, 'fields'>): boolean =>
  fields?.closed_at !== undefined && Date.parse(fields.closed_at) + 90 * DAY <= Date.now();

/** Whether two memories say the same in their fields. */
export const sameFields = (one: Fields | null, other: Fields | null): boolean => sorted(one) === sorted(other);

const sorted = (fields: Fields | null) => JSON.stringify(Object.entries(fields ?? {}).sort());
