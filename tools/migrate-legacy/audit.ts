// Converts a row of an old audit table to a row of audit_log. The audit log never contains contents, so of the old details
// only numbers, flags, ids and names are kept, and queries as their hash.
import { createHash } from 'node:crypto';
import type { AuditField, Mapping } from './columns.ts';
import { isObject, numberOf, parseJson } from './json.ts';
import type { Actor, MemoryRules, OldRow } from './memory.ts';
import { nonEmpty } from './memory.ts';
import type { Tally } from './tally.ts';
import { instantOf } from './time.ts';

export interface AuditRecord {
  source_id: string;
  hash: string | null;
  occurred_at: string;
  operation: string;
  table_name: string;
  /** The id of the old memory, and the old tables that may contain it. */
  row: string | null;
  row_tables: string[];
  project_id: string | null;
  scope: string | null;
  caller: string;
  creator: string | null;
  source: string | null;
  tool_name: string;
  sqlstate: string | null;
  details: Record<string, unknown>;
}

type Writer = Record<'caller' | 'creator' | 'source' | 'tool_name', string | null>;

export type AuditJudged = { record: AuditRecord } | { reason: 'operation' | 'time' };

// The first match of a word in the old name wins: a cleanup that deletes is a cleanup.
const operations: Record<string, string[]> = {
  DENIED: ['denied', 'deny', 'refused', 'forbidden', 'unauthorized'],
  CLEANUP: ['cleanup', 'expire', 'expired', 'purge', 'gc', 'prune', 'compact'],
  ERASE: ['erase', 'erased', 'forget', 'forgotten'],
  STATS: ['stats', 'statistics', 'count'],
  INSERT: [
    'insert',
    'inserted',
    'create',
    'created',
    'add',
    'added',
    'save',
    'saved',
    'store',
    'stored',
    'write',
    'remember',
  ],
  UPDATE: ['update', 'updated', 'modify', 'modified', 'edit', 'edited', 'promote', 'promoted'],
  DELETE: ['delete', 'deleted', 'remove', 'removed'],
  SEARCH: ['search', 'searched', 'query', 'recall', 'retrieve', 'find'],
  READ: ['read', 'get', 'select', 'fetch', 'view', 'access', 'list'],
  EXPORT: ['export', 'exported', 'backup', 'dump'],
};

/** The operation for an old name such as memory.save or SEARCH_MEMORY. */
export function operationOf(old: string): string | null {
  const words = old
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z]+/);
  return Object.entries(operations).find(([, names]) => words.some((word) => names.includes(word)))?.[0] ?? null;
}

const NAME = /^[A-Za-z0-9._:/@+-]{1,100}$/;
// Fields that contain text of users, however short.
const PROSE = /content|text|body|prompt|message|title|summary|note|reason|value|secret|key$|token|password|^(old|new)/i;
const QUERY = /^(query|q|search|search_query|question)$/i;

export function auditMapper(
  table: string,
  columns: Mapping<AuditField>,
  rules: MemoryRules,
  memoryTables: string[],
  tally: Tally,
) {
  const mapped = new Set(Object.values(columns).map(({ name }) => name));
  const short = (name: string) =>
    name
      .replace(/^.*\./, '')
      .replace(/[^a-z]/gi, '')
      .toLowerCase();

  return function judge(row: OldRow): AuditJudged {
    const at = (field: AuditField): unknown => {
      const column = columns[field];
      return column ? (row.rest[column.name] ?? null) : null;
    };
    const text = (field: AuditField): string | null => nonEmpty(at(field));

    const oldOperation = text('operation');
    const operation = oldOperation ? operationOf(oldOperation) : null;
    if (operation === null) {
      tally.note(`operation that is unknown: ${oldOperation?.slice(0, 60) ?? '(none)'}`);
      return { reason: 'operation' };
    }
    const time = instantOf(at('time'));
    if (time === null) return { reason: 'time' };

    const details = detailsOf(at('details'));
    const who = whoOf(details.writer, text);
    for (const [name, value] of Object.entries(row.rest)) {
      if (!mapped.has(name) && value !== null) put(details.kept, name, value);
    }
    const oldTable = text('table');
    const rowTables = oldTable ? memoryTables.filter((one) => short(one) === short(oldTable)) : memoryTables;
    const oldScope = text('scope');
    const scope = oldScope === null ? null : (rules.scopeNames.get(oldScope) ?? oldScope);
    const actor = [who.caller, who.creator, who.source].map((name) => actorOf(name)).find(Boolean);
    const failure = failureOf(at('status'), text('sqlstate'), operation);
    const oldRow = text('row');
    return {
      record: {
        source_id: row.key,
        hash: row.hash,
        occurred_at: time,
        operation,
        table_name: rowTables.length > 0 ? 'packet_store' : plainName(oldTable),
        row: oldRow,
        row_tables: rowTables,
        project_id: text('project')?.slice(0, 200) ?? null,
        // A scope that the tenant does not have is kept: it hides the row from more callers, not fewer.
        scope: scope?.slice(0, 63) ?? null,
        caller: actor?.caller ?? `legacy:${plainName(who.caller ?? who.creator)}`,
        creator: who.creator ?? actor?.creator ?? null,
        source: who.source ?? actor?.source ?? null,
        tool_name: who.tool_name ?? 'legacy',
        sqlstate: failure,
        details: {
          ...details.kept,
          legacy: {
            source: rules.source,
            table,
            id: row.key,
            operation: plainName(oldOperation),
            ...(oldRow ? { row: plainName(oldRow) } : {}),
            ...(text('caller') !== null && text('caller') !== who.caller ? { caller: plainName(text('caller')) } : {}),
          },
        },
      },
    };
  };

  function actorOf(name: string | null): Actor | undefined {
    const wanted = name?.trim().toLowerCase();
    return wanted === undefined
      ? undefined
      : rules.actors.find((actor) =>
          [actor.caller, actor.creator, actor.source, actor.agent].some((one) => one.toLowerCase() === wanted),
        );
  }

  /** Who did it: columns of these very names, else the details, else columns that may mean it, such as user_id. */
  function whoOf(writer: Writer, text: (field: AuditField) => string | null): Writer {
    const isNamed = /^(caller|actor|performed_?by)$/i.test(columns.caller?.name ?? '');
    return {
      caller: (isNamed ? text('caller') : null) ?? writer.caller ?? text('caller'),
      creator: nameIn(text('creator')) ?? writer.creator,
      source: nameIn(text('source')) ?? writer.source,
      tool_name: nameIn(text('tool')) ?? writer.tool_name,
    };
  }

  function detailsOf(value: unknown): { kept: Record<string, unknown>; writer: Writer } {
    let given = value;
    if (typeof given === 'string') {
      try {
        given = parseJson(given);
      } catch {
        given = { text: value };
      }
    }
    const kept: Record<string, unknown> = {};
    const writer: Writer = { caller: null, creator: null, source: null, tool_name: null };
    if (isObject(given)) {
      for (const [name, one] of Object.entries(given)) {
        const field = name === 'tool' ? 'tool_name' : name;
        if (field in writer && nameIn(one) !== null) writer[field as keyof Writer] ??= nameIn(one);
        else put(kept, name, one);
      }
    } else if (given !== null) put(kept, 'details', given);
    return { kept, writer };
  }

  function put(kept: Record<string, unknown>, name: string, value: unknown) {
    if (value === null) return;
    if (QUERY.test(name) && typeof value === 'string') {
      kept.query_sha256 = createHash('sha256').update(value).digest('hex');
      tally.note('queries in audit details: only their hash imported');
    } else if (!PROSE.test(name) && NAME.test(name) && isPlain(value)) kept[name] = value;
    else tally.note(`texts in audit rows: not imported (${plainName(name)})`);
  }
}

/** A short name on one line, which is no content; otherwise null. */
const nameIn = (value: unknown): string | null =>
  typeof value === 'string' && /^\S[^\r\n]{0,99}$/.test(value) ? value : null;

/** True for a number, a flag, an id, a name, or a list of those. */
function isPlain(value: unknown): boolean {
  if (Array.isArray(value)) return value.length <= 200 && value.every((one) => !Array.isArray(one) && isPlain(one));
  return typeof value === 'boolean' || numberOf(value) !== null || (typeof value === 'string' && NAME.test(value));
}

const plainName = (value: string | null) =>
  (value === null ? 'unknown' : NAME.test(value) ? value : 'unnamed').slice(0, 56);

/** The SQLSTATE of a failure; XX000 if the old row has none. */
function failureOf(status: unknown, sqlstate: string | null, operation: string): string | null {
  const code = sqlstate !== null && /^[0-9A-Z]{5}$/.test(sqlstate) && sqlstate !== '00000' ? sqlstate : null;
  const hasFailed =
    status === false || (typeof status === 'string' && /err|fail|den|refus|forbid|false|unauth/i.test(status));
  if (!hasFailed && operation !== 'DENIED') return null;
  return code ?? (operation === 'DENIED' ? 'L9SCP' : 'XX000');
}
