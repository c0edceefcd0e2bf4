// The states of a tenant that moves, and the wait for what began before it was stopped.
import { setTimeout as sleep } from 'node:timers/promises';
import type { CellDatabase, Tenant } from './database.ts';
import { TenantProblem } from './problem.ts';

const WAIT_MS = 20;
/** How long a transaction is waited for, while callers are refused. */
const PATIENCE_MS = 5_000;

interface Session {
  pid: number;
  since: string;
  program: string;
}

// A session of l9_backup can't write. Transactions that begin later see that the tenant is stopped.
const SESSIONS = `
  select a.pid, a.xact_start::text as since, coalesce(nullif(a.application_name, ''), a.usename, '') as program
  from pg_catalog.pg_stat_activity a
  where a.datname = current_database() and a.xact_start is not null and a.backend_type = 'client backend'
    and a.pid <> pg_backend_pid() and a.usename is distinct from 'l9_backup'
  union all
  select 0, p.gid, 'prepared transaction ' || p.gid from pg_catalog.pg_prepared_xacts p where p.database = current_database()`;

/** From its commit on, every call of the tenant is refused. It resolves when all that began earlier has ended. */
export async function stop(source: CellDatabase, { tenant_id }: Tenant, moveId: string): Promise<void> {
  await source.query(
    `insert into identity.tenant_moves as m (tenant_id, state, move_id) values ($1, 'stopped', $2)
     on conflict (tenant_id) do update set state = 'stopped', move_id = excluded.move_id, changed_at = clock_timestamp()
     where m.state = 'arrived'`,
    [tenant_id, moveId],
  );
  await waitForEarlier(source);
}

/** Resolves when every transaction that is open now has ended; rejects if one lasts longer than this patience. */
export async function waitForEarlier({ query, name }: CellDatabase, patienceMs = PATIENCE_MS): Promise<void> {
  const { rows: older } = await query<Session>(SESSIONS);
  const until = Date.now() + patienceMs;
  for (;;) {
    const { rows: now } = await query<Session>(SESSIONS);
    const left = older.find(({ pid, since }) => now.some((one) => one.pid === pid && one.since === since));
    if (!left) return;
    if (Date.now() > until)
      throw new TenantProblem(
        `${name}: session ${left.pid} (${left.program}) has had a transaction open since ${left.since}: end it, then try again`,
      );
    await sleep(WAIT_MS);
  }
}

/** Serves a stopped tenant again; false if it was not stopped. */
export async function resume({ query }: CellDatabase, { tenant_id }: Tenant): Promise<boolean> {
  const { rows: back } = await query(
    `update identity.tenant_moves m set state = 'arrived', move_id = m.arrival_id, changed_at = clock_timestamp()
     where m.tenant_id = $1 and m.state = 'stopped' and m.arrival_id is not null returning m.tenant_id`,
    [tenant_id],
  );
  const { rows: gone } = await query(
    "delete from identity.tenant_moves m where m.tenant_id = $1 and m.state = 'stopped' returning m.tenant_id",
    [tenant_id],
  );
  return back.length + gone.length > 0;
}

/** From its commit on the other database owns the tenant. */
export async function handOver(
  { query }: CellDatabase,
  { tenant_id }: Tenant,
  moveId: string,
  cell: string | null,
): Promise<void> {
  const { rows } = await query(
    `update identity.tenant_moves m set state = 'moved', cell = $3, changed_at = clock_timestamp()
     where m.tenant_id = $1 and m.state = 'stopped' and m.move_id = $2 returning m.tenant_id`,
    [tenant_id, moveId, cell],
  );
  if (rows.length === 0) throw new TenantProblem('the tenant is no longer stopped by this command: run it again');
}

/** Serves the tenant where it has arrived, once the other database has handed it over. */
export async function serve({ query }: CellDatabase, { tenant_id }: Tenant, moveId: string): Promise<void> {
  const { rows } = await query(
    `update identity.tenant_moves m set state = 'arrived', changed_at = clock_timestamp()
     where m.tenant_id = $1 and m.state = 'arriving' and m.move_id = $2 returning m.tenant_id`,
    [tenant_id, moveId],
  );
  if (rows.length === 0) throw new TenantProblem('what has arrived is gone: run the command again');
}
