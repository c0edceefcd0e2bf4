// The rows of one tenant: in which tables they are, and by which condition they are found. Read from the catalogue, so that a new table
// with a tenant_id, or with a foreign key to one, belongs to them by itself.
import type { Query } from '../backup/facts.ts';
import { TenantProblem } from './problem.ts';

export interface TenantTable {
  name: string;
  /** The columns that are copied. */
  columns: string[];
  /** The primary key; null: the table is always copied whole. */
  key: string[] | null;
  /** The condition on its rows, which the query calls t. */
  where: string;
  /** How many tables lie between its rows and the tenant. */
  depth: number;
}

/** Tables that no tenant takes along, with the reasons. */
export const LEFT_BEHIND: Readonly<Record<string, string>> = {
  'administration.call_counts': 'counts of this minute',
  'administration.program_versions': 'programs that ran here',
  'archive.pending_deletions': 'a queue for the stores of this place',
  'derived.derived_tables': 'written by migrations',
  'derived.memories_being_deleted': 'empty outside a statement',
  'derived.memories_being_restated': 'empty outside a statement',
  'duplicates.telling_words': 'written by migrations',
  'embeddings.embedding_changes': 'a change of the model of this place',
  'entities.tables_with_names': 'written by migrations',
  'extraction.summary_leases': 'what a job of this place is at work on',
  'forgetting.words_to_rebuild': 'a queue for the indexes of this place',
  'identity.active_actors': 'made again from the actors',
  'identity.tenant_moves': 'what this place knows of moves',
  'importance.access_roll_up': 'how far the job of this place is',
  'public.audit_archives': 'months that were taken out of the log of this place',
  'public.audit_log': 'its rows arrive in transfer.imported_audit_log',
  'public.audit_seals': 'what they say of the rows arrives in transfer.imported_audit_seals',
  'public.embedding_models': 'the models of this place, which must have those of the vectors',
  'transfer.imports_under_way': 'empty outside a statement',
  'views.memory_view_refreshes': 'when views of this place were refreshed',
  'world_model.stale_worlds': 'empty outside a statement',
};

/** Where the audit log of another database arrives. */
export const AUDIT = ['transfer.imported_audit_log', 'transfer.imported_audit_seals'];
export const ACCESS_LOG = 'importance.memory_access_log';

/** What came to a place stays there, and is never changed. */
export const APPEND_ONLY = [...AUDIT, ACCESS_LOG];

/** What a tenant that has moved leaves behind, so that its callers are told so and not that they are unknown. */
export const TOMBSTONE = [
  ...['public.tenants', 'public.orgs', 'public.users', 'public.scopes', 'public.actors', 'public.api_keys'],
  'identity.api_key_hashes',
];

const of = (table: string, tenant: string, column = 'packet_id') =>
  `(select r.${column} from ${table} r where r.tenant_id = ${tenant})`;

/** Rows that belong to a tenant without a foreign key that says so. */
const REACHED: Readonly<Record<string, (tenant: string) => string>> = {
  'public.archive_blobs': (tenant) => `t.archive_id in ${of('public.session_archives', tenant, 'archive_id')}
    or t.archive_id in (select p.archive_id from archive.prepared_sessions p where p.acting_tenant_id = ${tenant})`,
  'embeddings.stale_contexts': (tenant) => `t.packet_id in ${of('public.packet_store', tenant)}`,
  'importance.pending_recounts': (tenant) => `t.packet_id in ${of('public.packet_store', tenant)}`,
  'world_model.worlds': (tenant) =>
    ['entities', 'updates', 'snapshots']
      .map((part) => `t.audience_id in ${of(`public.world_model_${part}`, tenant, 'audience_id')}`)
      .join(' or '),
};

// Transactions are numbered by each server. Votes that the roll-up has counted have no number; the others get a new one on arrival.
const TRANSLATED: Readonly<Record<string, Record<string, string>>> = {
  'public.memory_feedback': {
    xid: "case when t.xid < (select r.to_xid from importance.access_roll_up r) then '0' else t.xid end",
  },
};

interface Listed {
  name: string;
  columns: string[];
  key: string[];
  references: { columns: string[]; to: string; to_columns: string[] }[];
}

const columnsOf = (table: string, numbers: string) => `
  array(select quote_ident(a.attname) from unnest(${numbers}) with ordinality as n (number, place)
    join pg_catalog.pg_attribute a on a.attrelid = ${table} and a.attnum = n.number order by n.place)`;

const nameOf = (table: string) =>
  `(select format('%I.%I', ns.nspname, named.relname) from pg_catalog.pg_class named
    join pg_catalog.pg_namespace ns on ns.oid = named.relnamespace where named.oid = ${table})`;

const CATALOGUE = `
  select ${nameOf('c.oid')} as name,
    array(select quote_ident(a.attname) from pg_catalog.pg_attribute a
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' and a.attidentity = ''
      order by a.attnum) as columns,
    coalesce((select ${columnsOf('c.oid', 'k.conkey')} from pg_catalog.pg_constraint k
      where k.conrelid = c.oid and k.contype = 'p'), '{}') as key,
    coalesce((select jsonb_agg(jsonb_build_object('columns', ${columnsOf('c.oid', 'f.conkey')}, 'to', ${nameOf('f.confrelid')},
        'to_columns', ${columnsOf('f.confrelid', 'f.confkey')}) order by f.conname)
      from pg_catalog.pg_constraint f where f.conrelid = c.oid and f.contype = 'f' and f.conparentid = 0), '[]') as "references"
  from pg_catalog.pg_class c join pg_catalog.pg_namespace s on s.oid = c.relnamespace
  where c.relkind in ('r', 'p') and not c.relispartition and s.nspowner = 'l9_owner'::regrole
    and s.nspname not in ('graphile_migrate', 'partitions')
  order by 1`;

/** The tables with rows of this tenant, those first that others refer to. `chains`: audit logs that are not among its rows. */
export async function tablesOf(query: Query, tenantId: string, chains: string[] = []): Promise<TenantTable[]> {
  const tenant = `'${tenantId}'::uuid`;
  const { rows } = await query<Listed>(CATALOGUE);
  const listed = rows.filter(({ name }) => !(name in LEFT_BEHIND));
  const found = new Map<string, TenantTable>();
  const add = (table: Listed, where: string, depth: number) => {
    const { name, columns } = table;
    const key = table.key.length > 0 && table.key.every((column) => columns.includes(column)) ? table.key : null;
    const elsewhere = AUDIT.includes(name) ? chains.map((chain) => ` and t.chain <> '\\x${chain}'`).join('') : '';
    found.set(name, { name, columns, key, where: `(${where})${elsewhere}`, depth });
  };
  for (const table of listed) {
    const own = table.references.find(({ to }) => to === 'public.tenants');
    if (table.name in REACHED) add(table, REACHED[table.name]!(tenant), 1);
    else if (table.columns.includes('tenant_id')) add(table, `t.tenant_id = ${tenant}`, 0);
    else if (own) add(table, `t.${own.columns[0]} = ${tenant}`, 0);
  }
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    for (const table of listed) {
      const reference = table.references.find(({ to }) => found.has(to));
      if (found.has(table.name) || !reference) continue;
      const { where, depth } = found.get(reference.to)!;
      const named = (columns: string[], of: string) => columns.map((column) => `${of}.${column}`).join(', ');
      add(
        table,
        `(${named(reference.columns, 't')}) in (select ${named(reference.to_columns, 't')} from ${reference.to} t where ${where})`,
        depth + 1,
      );
    }
  }
  const unknown = listed.find(({ name }) => !found.has(name))?.name;
  if (unknown !== undefined) throw new TenantProblem(`${unknown}: nothing says to which tenant its rows belong`);
  return [...found.values()].sort((a, b) => a.depth - b.depth || a.name.localeCompare(b.name));
}

/** Selects the rows of a table, in an order that is the same in each database. */
export function rowsOf({ name, columns, key, where }: TenantTable, and = ''): string {
  const translated = TRANSLATED[name] ?? {};
  const selected = columns.map((column) =>
    column in translated ? `${translated[column]} as ${column}` : `t.${column}`,
  );
  return `select ${selected.join(', ')} from ${name} t where ${where}${and} ${orderOf(key)}`;
}

/** The same of what was copied, which is not translated again. */
export const copiedRowsOf = ({ name, columns, key, where }: TenantTable, and = ''): string =>
  `select ${columns.map((column) => `t.${column}`).join(', ')} from ${name} t where ${where}${and} ${orderOf(key)}`;

const orderOf = (key: string[] | null) =>
  `order by ${(key ?? ['*']).map((column) => (column === '*' ? 't::text collate "C"' : `t.${column}::text collate "C"`)).join(', ')}`;

/** Gives votes that the roll-up has not counted a number of this server. `countedTo`: how far the roll-up of the other server was. */
export async function renumber(query: Query, tenantId: string, countedTo: string): Promise<void> {
  for (const name of Object.keys(TRANSLATED))
    await query(
      `update ${name} t set xid = case when t.xid < $2::xid8 then '0' else pg_current_xact_id() end
       where t.tenant_id = $1 and t.xid > '0'`,
      [tenantId, countedTo],
    );
  // Where the job has never run, it would count what has no number.
  await query("update importance.access_roll_up r set to_xid = '3' where r.to_xid < '3'");
}
