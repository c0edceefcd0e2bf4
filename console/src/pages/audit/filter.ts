// The filters of the page, as they stand in its address, and what they ask of the API.
import type { Address } from '../../lib/address.ts';
import type { AuditFilter } from './query.ts';

export const OPERATIONS = [
  'INSERT',
  'UPDATE',
  'DELETE',
  'SEARCH',
  'READ',
  'STATS',
  'CLEANUP',
  'EXPORT',
  'IMPORT',
  'ERASE',
  'DENIED',
  'ARCHIVE',
  'RETRIEVE',
] as const;

export const FIELDS = ['caller', 'operation', 'tool', 'table', 'row', 'since', 'until', 'refused', 'own'] as const;
export type Filters = Readonly<Record<(typeof FIELDS)[number], string>>;

export const filtersIn = (address: Address): Filters =>
  Object.fromEntries(FIELDS.map((name) => [name, address.get(name)])) as Filters;

export const isUuid = (text: string): boolean =>
  /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i.test(text);

/** Rows that this page writes by being looked at. They would fill the list, and count as new for ever. */
const OWN_READS: AuditFilter = { operation: { equalTo: 'READ' }, tableName: { in: ['audit_log', 'audit_head'] } };

export function toFilter({
  caller,
  operation,
  tool,
  table,
  row,
  since,
  until,
  refused,
  own,
}: Filters): AuditFilter | undefined {
  const time = { ...(since && { greaterThanOrEqualTo: since }), ...(until && { lessThan: until }) };
  const filter: AuditFilter = {
    ...(caller && { caller: { equalTo: caller } }),
    ...(operation && { operation: { equalTo: operation } }),
    ...(tool && { toolName: { equalTo: tool } }),
    ...(table && { tableName: { equalTo: table } }),
    ...(isUuid(row) && { rowId: { equalTo: row } }),
    ...(refused && { status: { equalTo: 'error' } }),
    ...(Object.keys(time).length > 0 && { occurredAt: time }),
    ...(!own && { not: OWN_READS }),
  };
  return Object.keys(filter).length > 0 ? filter : undefined;
}

/** The rows that came after a time and pass the filter. */
export const newerThan = (time: string, filter: AuditFilter | undefined): AuditFilter =>
  filter === undefined
    ? { occurredAt: { greaterThan: time } }
    : { and: [filter, { occurredAt: { greaterThan: time } }] };
