// Converts an old row to a record for legacy_import.import_legacy(), or returns why it cannot be one. Values without a field of
// their own go into `legacy`, which becomes part of the provenance of the memory, so that nothing is lost silently.
import { isProject } from '../../gateway/src/input/names.ts';
import type { Column, Mapping, MemoryField } from './columns.ts';
import { isObject, numberOf, parseJson } from './json.ts';
import type { Tally } from './tally.ts';
import { instantOf, lifetimeOf } from './time.ts';

export interface Actor {
  caller: string;
  creator: string;
  source: string;
  agent: string;
}

export interface MemoryRules {
  source: string;
  /** The start of this run: memories that expire earlier count as expired. */
  now: number;
  /** The scopes of the tenant, and whether their memories belong to projects. */
  scopes: ReadonlyMap<string, boolean>;
  /** New names of old scopes; '' stands for rows without a scope. */
  scopeNames: ReadonlyMap<string, string>;
  defaultProject: string | null;
  actors: readonly Actor[];
  /** The actor of a memory whose metadata names none: by its old scope, otherwise the last one. */
  writerByScope: ReadonlyMap<string, Actor>;
  writer: Actor;
  /** The highest importance on the old scale; null if the scale is unknown. */
  importanceScale: number | null;
  /** True if a user id that is a UUID becomes the owner of the memory. */
  keepUsers: boolean;
  /** Vectors of this model are imported; null: none are. */
  model: { name: string; dimensions: number } | null;
}

export interface OldRow {
  key: string;
  hash: string | null;
  /** The length of the content in bytes. */
  bytes: number;
  content: string | null;
  embedding: string | null;
  /** All other columns that are not derived, as JSON. */
  rest: Record<string, unknown>;
}

/** The record that import_legacy() takes. */
export interface MemoryRecord {
  source_id: string;
  id: string | null;
  content: string | null;
  hash: string | null;
  kind: string;
  scope: string;
  project_id: string | null;
  user_id: string | null;
  tags: string[];
  importance: number;
  ttl: string | null;
  created: string | null;
  updated: string | null;
  thread_id: string | null;
  session_id: string | null;
  correlation_id: string | null;
  trace_id: string | null;
  access_count: number | null;
  last_accessed: string | null;
  metadata: Record<string, unknown>;
  legacy: Record<string, unknown>;
  embedding: string | null;
}

export type Judged = { record: MemoryRecord } | { reason: Reason };

export type Reason = 'deleted' | 'expired' | 'long' | 'scope' | 'project';

export const MAX_CONTENT = 1_048_576;
const MAX_TAGS = 64;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const isUuid = (value: unknown): value is string => typeof value === 'string' && UUID.test(value);

export function memoryMapper(table: string, columns: Mapping<MemoryField>, rules: MemoryRules, tally: Tally) {
  const mapped = new Set(Object.values(columns).map((column: Column) => column.name));

  return function judge(row: OldRow): Judged {
    const at = (field: MemoryField): unknown => {
      const column = columns[field];
      return column ? (row.rest[column.name] ?? null) : null;
    };
    const text = (field: MemoryField): string | null => nonEmpty(at(field));
    const legacy: Record<string, unknown> = { source: rules.source, table, id: row.key };
    /** Keeps the old value in provenance if it was changed. */
    const keep = (name: string, value: unknown, why: string) => {
      legacy[name] = value;
      tally.note(why);
    };

    if (isDeleted(at('deleted'))) return { reason: 'deleted' };
    const created = instantOf(at('created'));
    const ttl = lifetimeOf(at('expires'), columns.expires, created);
    if (ttl && Date.parse(ttl) <= rules.now) return { reason: 'expired' };
    if (row.bytes > MAX_CONTENT) return { reason: 'long' };

    const metadata = metadataOf(at('metadata'), keep);
    const oldScope = text('scope') ?? nonEmpty(metadata.scope) ?? '';
    const scope = rules.scopeNames.get(oldScope) ?? oldScope;
    const hasProjects = rules.scopes.get(scope);
    tally.scope(oldScope, hasProjects === undefined ? null : scope);
    if (hasProjects === undefined) return { reason: 'scope' };
    const oldProject = text('project') ?? nonEmpty(metadata.project_id) ?? nonEmpty(metadata.project);
    const project = hasProjects ? (oldProject ?? rules.defaultProject) : null;
    if (hasProjects && (project === null || !isProject(project))) return { reason: 'project' };
    if (!hasProjects && oldProject)
      keep('project', oldProject, 'project not imported, because the scope has no projects');

    const writer = writerOf(metadata, [text('creator'), text('source'), text('agent')], oldScope);
    tally.writer(writer.actor.creator, writer.how);
    const oldWriter = text('creator') ?? nonEmpty(metadata.creator);
    const oldSource = text('source') ?? nonEmpty(metadata.source);
    if (oldWriter && oldWriter !== writer.actor.creator) legacy.creator = oldWriter;
    if (oldSource && oldSource !== writer.actor.source) legacy.source_name = oldSource;

    if (at('created') !== null && created === null)
      keep('created', at('created'), 'invalid creation time: created unknown');
    else if (created === null) tally.note('no creation time: time of the migration');
    if (at('expires') !== null && ttl === null && !/infinity/.test(String(at('expires'))))
      keep('expires', at('expires'), 'invalid expiry time: never expires');
    const isAhead = created !== null && Date.parse(created) > rules.now;
    if (isAhead) keep('created', created, 'creation time in the future: now');
    const updated = instantOf(at('updated'));
    if (at('updated') !== null && (updated === null || Date.parse(updated) > rules.now))
      keep('updated', at('updated'), 'invalid or future time of change: creation time');

    const lastAccessed = instantOf(at('lastAccessed'));
    if (at('lastAccessed') !== null && lastAccessed === null)
      keep('last_accessed', at('lastAccessed'), 'invalid time of last access: kept in provenance');
    const accessCount = countOf(at('accessCount'));
    if (at('accessCount') !== null && accessCount === null)
      keep('access_count', at('accessCount'), 'invalid access count: kept in provenance');
    if (text('embeddingModel')) legacy.embedding_model = text('embeddingModel');

    const record: MemoryRecord = {
      source_id: row.key,
      id: isUuid(row.key) ? row.key : null,
      content: row.content,
      hash: row.hash,
      kind: kindOf(text('kind') ?? nonEmpty(metadata.kind), keep),
      scope,
      project_id: project,
      user_id: userOf(at('user'), keep),
      tags: tagsOf(at('tags'), keep),
      importance: importanceOf(at('importance'), keep),
      ttl: ttl === 'infinity' ? null : ttl,
      created: isAhead ? new Date(rules.now).toISOString() : created,
      updated: updated !== null && Date.parse(updated) <= rules.now ? updated : null,
      thread_id: shortOf('thread', text('thread'), keep),
      session_id: shortOf('session', text('session'), keep),
      correlation_id: shortOf('correlation', text('correlation'), keep),
      trace_id: shortOf('trace', text('trace'), keep),
      access_count: accessCount,
      last_accessed: lastAccessed,
      metadata: {
        agent: writer.actor.agent,
        ...metadata,
        ...(text('agent') && typeof metadata.agent !== 'string' ? { agent: text('agent') } : {}),
        creator: writer.actor.creator,
        source: writer.actor.source,
      },
      legacy,
      embedding: embeddingOf(row.embedding, text('embeddingModel')),
    };
    const others = Object.entries(row.rest).filter(([name, value]) => !mapped.has(name) && value !== null);
    if (others.length > 0) legacy.columns = Object.fromEntries(others);
    // A JSON value from which the content was taken.
    const whole = columns.content && row.rest[columns.content.name];
    if (isObject(whole)) legacy.content = whole;
    return { record };
  };

  function metadataOf(value: unknown, keep: Keep): Record<string, unknown> {
    let given = value;
    // JSON that was encoded as a string once or twice, the most frequent defect of old metadata.
    for (let layer = 0; layer < 2 && typeof given === 'string'; layer++) {
      try {
        given = parseJson(given);
      } catch {
        break;
      }
    }
    if (given === null || given === undefined || given === '') return {};
    if (!isObject(given)) {
      keep('metadata', value, 'metadata is not an object: kept in provenance');
      return {};
    }
    if (typeof value === 'string' && columns.metadata?.family === 'json')
      tally.note('metadata was an object in a string: parsed');
    const { notes, ...rest } = given;
    if (notes === undefined || notes === null) return rest;
    if (isObject(notes)) return given;
    tally.note('notes are not an object: kept as notes.legacy');
    return { ...rest, notes: { legacy: notes } };
  }

  function writerOf(metadata: Record<string, unknown>, named: (string | null)[], oldScope: string) {
    const names = [metadata.creator, named[0], metadata.source, named[1], metadata.agent, named[2]];
    for (const name of names) {
      if (typeof name !== 'string') continue;
      const wanted = name.trim().toLowerCase();
      for (const field of ['creator', 'caller', 'source', 'agent'] as const) {
        const actor = rules.actors.find((one) => one[field].toLowerCase() === wanted);
        if (actor) return { actor, how: 'named' as const };
      }
    }
    const byScope = rules.writerByScope.get(oldScope);
    return { actor: byScope ?? rules.writer, how: byScope ? ('by scope' as const) : ('nobody named' as const) };
  }

  function kindOf(value: string | null, keep: Keep): string {
    if (value === null) return 'note';
    const word = value
      .trim()
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '_')
      .replace(/^[_0-9]+|_+$/g, '')
      .slice(0, 63);
    if (word === value) return word;
    keep('kind', value, 'kind changed to a lower-case word');
    return word || 'note';
  }

  function userOf(value: unknown, keep: Keep): string | null {
    if (value === null || value === '') return null;
    if (rules.keepUsers && isUuid(value)) {
      tally.note('user kept as the owner: only L and callers who act for that user will see the memory');
      return value;
    }
    keep('user', value, rules.keepUsers ? 'user is not a UUID: kept in provenance' : 'user kept in provenance');
    return null;
  }

  function tagsOf(value: unknown, keep: Keep): string[] {
    if (value === null || value === '') return [];
    let given: unknown = value;
    if (typeof given === 'string') {
      try {
        given = parseJson(given);
      } catch {
        // Words separated by commas, or an array as PostgreSQL writes it.
        given = String(value)
          .replace(/^\{(.*)\}$/s, '$1')
          .split(',')
          .map((tag) => tag.trim().replace(/^"(.*)"$/s, '$1'));
      }
      if (typeof given === 'string' || numberOf(given) !== null) given = [String(value)];
    }
    if (!Array.isArray(given) || given.some((tag) => typeof tag === 'object' && tag !== null)) {
      keep('tags', value, 'tags are not a list of words: kept in provenance');
      return [];
    }
    const words = [...new Set(given.filter((tag) => tag !== null).map((tag) => String(tag).trim()))].filter(Boolean);
    const fitting = words.filter((tag) => Buffer.byteLength(tag) <= 200).slice(0, MAX_TAGS);
    if (fitting.length < words.length) keep('tags', words, 'tags too many or too long: the rest kept in provenance');
    return fitting;
  }

  function importanceOf(value: unknown, keep: Keep): number {
    if (value === null) return 0.5;
    const given = numberOf(value) ?? (typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN);
    if (rules.importanceScale === null || !Number.isFinite(given)) {
      keep('importance', value, 'importance of unknown scale or format: 0.5');
      return 0.5;
    }
    const scaled = Math.min(1, Math.max(0, given / rules.importanceScale));
    if (given < 0 || given > rules.importanceScale) keep('importance', value, 'importance out of range: clamped');
    else if (scaled !== given) keep('importance', value, `importance from 0 to ${rules.importanceScale}: scaled`);
    return scaled;
  }

  function shortOf(name: string, value: string | null, keep: Keep): string | null {
    if (value === null || Buffer.byteLength(value) <= 200) return value;
    keep(name, value, `${name} over 200 bytes: kept in provenance`);
    return null;
  }

  function embeddingOf(vector: string | null, model: string | null): string | null {
    if (vector === null) return null;
    const { model: wanted } = rules;
    if (wanted === null) return null;
    const numbers = vector.trim().replace(/^\{(.*)\}$/s, '[$1]');
    if (model !== null && model !== wanted.name) tally.vector('of another model');
    else if (numbers.split(',').length !== wanted.dimensions) tally.vector('of other dimensions');
    else return numbers;
    return null;
  }
}

type Keep = (name: string, value: unknown, why: string) => void;

const isDeleted = (value: unknown) => value !== null && value !== false;

/** A text or a number as text; otherwise null. */
export function nonEmpty(value: unknown): string | null {
  if (typeof value === 'string') return value.trim() === '' ? null : value;
  return numberOf(value) === null ? null : JSON.stringify(value);
}

function countOf(value: unknown): number | null {
  const count = numberOf(value);
  return count !== null && Number.isSafeInteger(count) && count >= 0 ? count : null;
}
