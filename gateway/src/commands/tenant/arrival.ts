// The database that a tenant comes to: what must be there, the transaction in which it arrives, and how it goes again.
import { type CellDatabase, moveOf, type Tenant } from './database.ts';
import { TenantProblem } from './problem.ts';
import { waitForEarlier } from './stop.ts';
import { APPEND_ONLY, renumber, type TenantTable, TOMBSTONE } from './tables.ts';

/** What a database must have for the rows of a tenant. */
export interface Needs {
  models: { model: string; dimensions: number }[];
  /** Logins that are bound to callers. */
  logins: string[];
  archive_keys: string[];
  /** The stores of archives outside of the database. */
  stores: string[];
}

export async function needsOf({ query }: CellDatabase, { tenant_id }: Tenant): Promise<Needs> {
  const { rows } = await query<Needs>(
    `select
       coalesce((select jsonb_agg(jsonb_build_object('model', m.model, 'dimensions', m.dimensions) order by m.model)
         from public.embedding_models m
         where exists (select from public.memory_embeddings e where e.tenant_id = $1 and e.model = m.model)
           or exists (select from embeddings.pending_embeddings e join public.packet_store p on p.packet_id = e.packet_id
             where p.tenant_id = $1 and e.model = m.model)), '[]') as models,
       array(select a.login from public.actors a where a.tenant_id = $1 and a.login is not null order by 1) as logins,
       array(select distinct a.key_id from public.session_archives a where a.tenant_id = $1 and a.key_id <> '' order by 1) as archive_keys,
       array(select distinct c.name from public.session_archives a, unnest(a.connectors) as c (name)
         where a.tenant_id = $1 and c.name <> 'postgres' order by 1) as stores`,
    [tenant_id],
  );
  return rows[0]!;
}

/** Throws for what the rows refer to and the database lacks. Returns what a person has to see to, as lines. */
export async function requireNeeds(
  { query, name }: CellDatabase,
  { models, logins, archive_keys, stores }: Needs,
): Promise<string[]> {
  const { rows } = await query<{ model: string; dimensions: number }>(
    'select m.model, m.dimensions from public.embedding_models m',
  );
  const lacking = models.find(
    ({ model, dimensions }) => !rows.some((one) => one.model === model && one.dimensions === dimensions),
  );
  if (lacking)
    throw new TenantProblem(
      `${name} lacks the embedding model ${lacking.model} of ${lacking.dimensions} dimensions, which has vectors of the tenant: start a gateway there with that model, or change the model of the tenant's database first (docs/how-to/change-the-embedding-model.md)`,
    );
  const { rows: missing } = await query<{ login: string }>(
    'select l.login from unnest($1::text[]) as l (login) where not exists (select from pg_catalog.pg_roles r where r.rolname = l.login)',
    [logins],
  );
  const say = (what: string, names: string[]) => (names.length > 0 ? [`${what}: ${names.join(', ')}`] : []);
  return [
    ...say(
      'logins that callers are bound to and that this server lacks',
      missing.map(({ login }) => login),
    ),
    ...say('archive keys that the gateways there need', archive_keys),
    ...say('stores of archives that the gateways there need', stores),
  ];
}

/** Throws where the tenant, its name or its route is taken. `isReturning`: it may replace what it left behind when it moved away. */
export async function requireFree({ query, name }: CellDatabase, tenant: Tenant, isReturning: boolean): Promise<void> {
  const { rows } = await query<{ what: string }>(
    `select case when t.tenant_id = $1 then 'this tenant' when t.name = $2 then 'a tenant of this name' else 'a tenant with this route' end as what
     from public.tenants t where t.tenant_id = $1 and not $4 or t.tenant_id <> $1 and (t.name = $2 or t.route = $3)
     order by t.tenant_id = $1 desc limit 1`,
    [tenant.tenant_id, tenant.name, tenant.route, isReturning],
  );
  if (rows[0]) throw new TenantProblem(`${name} has ${rows[0].what} already (${tenant.name})`);
}

/** Begins the transaction in which rows arrive as they are: no trigger stamps, derives or audits them. */
export async function beginArrival({ query }: CellDatabase): Promise<void> {
  await query('begin');
  await query('set local session_replication_role = replica');
}

/** Removes what a tenant left behind when it moved away, within the transaction in which it comes back. */
export async function replaceTombstone(
  { query }: CellDatabase,
  tables: TenantTable[],
  { tenant_id }: Tenant,
): Promise<void> {
  await forgetServed(tenant_id, query);
  for (const { name, where } of [...tables].reverse()) {
    if (TOMBSTONE.includes(name)) await query(`delete from ${name} t where ${where}`);
  }
}

const forgetServed = async (tenantId: string, query: CellDatabase['query']) => {
  for (const name of ['identity.active_actors', 'identity.tenant_moves'])
    await query(`delete from ${name} where tenant_id = $1`, [tenantId]);
};

/** Ends the transaction of rows that have all arrived. Without a move the tenant is served from then on. */
export async function endArrival(
  { query }: CellDatabase,
  { tenant_id }: Tenant,
  countedTo: string,
  moveId?: string,
): Promise<void> {
  await renumber(query, tenant_id, countedTo);
  await query('set local session_replication_role = origin');
  if (moveId === undefined) {
    await query('select identity.refresh_active_actors($1)', [tenant_id]);
    await query("select audit.write_audit_of_tenant($1, 'IMPORT', 'tenants', $1)", [tenant_id]);
    await query("select pg_notify('l9_identity', '')");
  } else
    await query(
      "insert into identity.tenant_moves (tenant_id, state, move_id, arrival_id) values ($1, 'arriving', $2, $2)",
      [tenant_id, moveId],
    );
  await query('commit');
}

async function inTransaction({ query }: CellDatabase, work: () => Promise<void>): Promise<void> {
  await beginArrival({ query } as CellDatabase);
  try {
    await work();
    await query('commit');
  } catch (error) {
    await query('rollback');
    throw error;
  }
}

/** Removes the logs that a tenant brought or left behind, but for the audit log of this database. Only a superuser can. */
export const removeLogs = (database: CellDatabase, { tenant_id }: Tenant): Promise<void> =>
  inTransaction(database, () => deleteLogs(database, tenant_id));

async function deleteLogs({ query }: CellDatabase, tenantId: string): Promise<void> {
  for (const name of APPEND_ONLY) {
    await query(`alter table ${name} disable trigger _200_append_only`);
    await query(`delete from ${name} t where t.tenant_id = $1`, [tenantId]);
    await query(`alter table ${name} enable always trigger _200_append_only`);
  }
}

/** Removes a tenant that has arrived and that this database never owned. */
export const removeArrived = (database: CellDatabase, tables: TenantTable[], tenant: Tenant): Promise<number> =>
  remove(database, tables, tenant, 'arriving');

/** Removes the rows of a tenant that another database owns; returns how many. What tells its callers so stays, and the audit log. */
export const removeMoved = (database: CellDatabase, tables: TenantTable[], tenant: Tenant): Promise<number> =>
  remove(database, tables, tenant, 'moved');

/** How long a transaction is waited for while nobody is refused. */
const PATIENCE_MS = 60_000;

/** In two passes: jobs that had read the rows before the first has removed them may still write what they make of them. */
async function remove(
  database: CellDatabase,
  tables: TenantTable[],
  tenant: Tenant,
  state: 'arriving' | 'moved',
): Promise<number> {
  let removed = 0;
  for (const isLast of [false, true]) {
    await inTransaction(database, async () => {
      if ((await moveOf(database, tenant))?.state !== state)
        throw new TenantProblem(
          `${database.name}: ${state === 'moved' ? 'the tenant has not moved' : 'the tenant is in use'}`,
        );
      removed += await removeRows(database, tables, tenant, state === 'moved');
      if (isLast && state === 'arriving') {
        // Last, because other tenants can't write to these logs until this transaction ends.
        await forgetServed(tenant.tenant_id, database.query);
        await deleteLogs(database, tenant.tenant_id);
        await database.query("select pg_notify('l9_identity', '')");
      }
    });
    if (!isLast) await waitForEarlier(database, PATIENCE_MS);
  }
  return removed;
}

async function removeRows(
  { query }: CellDatabase,
  tables: TenantTable[],
  { tenant_id }: Tenant,
  leavesTombstone: boolean,
): Promise<number> {
  // A job locks the memory that it writes of, so it is either waited for here, or finds that the memory is gone.
  await query('select from public.packet_store p where p.tenant_id = $1 order by p.packet_id for update', [tenant_id]);
  let removed = 0;
  for (const { name, where } of tables.toReversed()) {
    if (APPEND_ONLY.includes(name) || (leavesTombstone && TOMBSTONE.includes(name))) continue;
    const { rowCount } = (await query(`delete from ${name} t where ${where}`)) as unknown as { rowCount: number };
    removed += rowCount;
  }
  // Words of memories that are gone stay in an index until it is built again.
  if (removed > 0) await query('select forgetting.request_rebuild(array[$1::uuid])', [tenant_id]);
  return removed;
}
