// The audit log of a tenant as another database gets it: its rows with the hashes that were sealed, and what each seal says of them. The
// seals of a database are of all its tenants, so the log stays where it is, too.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Query } from '../backup/facts.ts';
import { copyRows, digestOf } from './copy.ts';
import type { CellDatabase } from './database.ts';
import { TenantProblem } from './problem.ts';
import { AUDIT, type TenantTable } from './tables.ts';

/** The hash of the first seal of a database, by which its log is named; null before that. */
export const chainOf = async (query: Query): Promise<string | null> =>
  (
    await query<{ chain: string }>(
      "select encode(s.seal_hash, 'hex') as chain from public.audit_seals s where s.seal_id = 1",
    )
  ).rows[0]?.chain ?? null;

/** Selects what is sealed after this seal, for the two tables of imported logs. */
export function sealedSelects(tables: TenantTable[], tenantId: string, after: string, previousHash: string | null) {
  const tenant = `'${tenantId}'::uuid`;
  const sources = [
    `transfer.sealed_rows(${tenant}, ${after})`,
    `transfer.sealed_parts(${tenant}, ${after}, ${previousHash === null ? 'null' : `'\\x${previousHash}'`})`,
  ];
  return AUDIT.map((name, place) => {
    const columns = tables.find((table) => table.name === name)!.columns.filter((column) => column !== 'imported_at');
    const order = place === 0 ? 't.seal_id, t.audit_id' : 't.seal_id';
    const list = columns.map((column) => `t.${column}`).join(', ');
    return {
      name,
      columns,
      select: `select ${list} from ${sources[place]} t order by ${order}`,
      /** The same, once it has arrived. */
      arrived: (chain: string) =>
        `select ${list} from ${name} t where t.tenant_id = ${tenant} and t.chain = '\\x${chain}' and t.seal_id > ${after} order by ${order}`,
    };
  });
}

/** Carries what was sealed and has not arrived yet; returns the number of rows. */
export async function carrySealed(
  source: CellDatabase,
  target: CellDatabase,
  tables: TenantTable[],
  tenantId: string,
): Promise<number> {
  const chain = await chainOf(source.query);
  if (chain === null) return 0;
  const { rows } = await target.query<{ seal_id: string; hash: string }>(
    `select s.seal_id::text, encode(s.hash, 'hex') as hash from transfer.imported_audit_seals s
     where s.tenant_id = $1 and s.chain = $2 order by s.seal_id desc limit 1`,
    [tenantId, `\\x${chain}`],
  );
  let carried = 0;
  for (const part of sealedSelects(tables, tenantId, rows[0]?.seal_id ?? '0', rows[0]?.hash ?? null)) {
    const read = await copyRows(source.client, part.select, target.client, part.name, part.columns);
    const arrived = await digestOf(target.client, part.arrived(chain));
    if (read.rows !== arrived.rows || read.sha256 !== arrived.sha256)
      throw new TenantProblem(
        `${part.name}: ${read.rows} rows were read, and ${arrived.rows} arrived, or others: nothing was moved`,
      );
    carried += read.rows;
  }
  return carried;
}

const SEAL_TRIES = 300;
const SEAL_AGAIN_MS = 100;

/** Seals the audit log until no row of this tenant is left, which transactions of others hold up. */
export async function sealRows({ query, name }: CellDatabase, tenantId: string): Promise<void> {
  for (let tries = 0; tries < SEAL_TRIES; ) {
    const { rows } = await query<{ sealed: string }>('select audit.seal_audit(100000) as sealed');
    const { rows: left } = await query<{ unsealed: boolean }>(
      `select exists (
         select from public.audit_log a
         where a.tenant_id = $1 and a.xid >= coalesce((select max(s.to_xid) from public.audit_seals s
             where s.era = (select max(l.era) from public.audit_seals l)), '0')
           and a.occurred_at > coalesce((select max(s.era_after) from public.audit_seals s), '-infinity')) as unsealed`,
      [tenantId],
    );
    if (!left[0]!.unsealed) return;
    if (rows[0]!.sealed !== '0') continue;
    tries += 1;
    await sleep(SEAL_AGAIN_MS);
  }
  throw new TenantProblem(
    `${name}: the audit log can't be sealed while an older transaction is open: end it, then run this again`,
  );
}
