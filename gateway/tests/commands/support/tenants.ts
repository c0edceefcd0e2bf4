// Databases for tests that carry a tenant from one to another. The tenant is the default one, which every new database has: where it is to
// arrive, it is removed first.
import pg from 'pg';
import { serverUrl } from '../../../../db/tests/support/engine.ts';
import { DEFAULT_TENANT } from '../../../../db/tests/support/sessions.ts';
import type { TestDatabase } from '../../../../db/tests/support/test-database.ts';
import type { EncryptionOptions } from '../../../src/commands/backup/encryption.ts';
import { exportTenant } from '../../../src/commands/tenant/export.ts';
import { importTenant } from '../../../src/commands/tenant/import.ts';
import { type MoveOptions, moveTenant } from '../../../src/commands/tenant/move.ts';
import { APPEND_ONLY, LEFT_BEHIND, type TenantTable, tablesOf } from '../../../src/commands/tenant/tables.ts';
import { run } from './backups.ts';

type Place = Pick<TestDatabase, 'superuserUrl' | 'inSuperuserSession'>;

export const nameOf = ({ superuserUrl }: Pick<Place, 'superuserUrl'>) => new URL(superuserUrl!).pathname.slice(1);

/** Removes a tenant without a trace, but for the audit log. */
export async function emptyOf(superuserUrl: string, tenantId = DEFAULT_TENANT): Promise<void> {
  const client = new pg.Client({ connectionString: superuserUrl });
  await client.connect();
  try {
    const tables = await tablesOf((text, values) => client.query(text, values), tenantId);
    await client.query('begin; set local session_replication_role = replica');
    for (const { name, where } of [...tables].reverse()) {
      if (!APPEND_ONLY.includes(name)) await client.query(`delete from ${name} t where ${where}`);
    }
    await client.query('delete from identity.active_actors where tenant_id = $1', [tenantId]);
    await client.query('commit');
  } finally {
    await client.end();
  }
}

export const tablesIn = (db: Place, tenantId = DEFAULT_TENANT): Promise<TenantTable[]> =>
  db.inSuperuserSession((client) => tablesOf((text, values) => client.query(text, values), tenantId));

/** The rows of each table that a tenant takes along, as text, without what each server numbers for itself. */
export async function rowsOfTenant(db: Place, tenantId = DEFAULT_TENANT): Promise<Record<string, string[]>> {
  const tables = await tablesIn(db, tenantId);
  return db.inSuperuserSession(async (client) => {
    const rows: Record<string, string[]> = {};
    for (const { name, where } of tables) {
      if (name.startsWith('transfer.')) continue;
      const found = await client.query<{ row: string }>(
        `select (to_jsonb(t) - '{xid,recount_id}'::text[])::text as row from ${name} t where ${where} order by 1`,
      );
      rows[name] = found.rows.map(({ row }) => row);
    }
    return rows;
  });
}

export const leftBehind = Object.keys(LEFT_BEHIND);

const env = { ROOT_DATABASE_URL: serverUrl! };

/** `more`: options of the encryption, and of the environment what begins with BACKUP_. */
type More = EncryptionOptions & { BACKUP_PASSPHRASE?: string };
const withMore = ({ BACKUP_PASSPHRASE, ...options }: More) => ({
  env: BACKUP_PASSPHRASE === undefined ? env : { ...env, BACKUP_PASSPHRASE },
  options,
});

export const exported = (from: Place, out: string, tenant = DEFAULT_TENANT, more: More = {}) => {
  const { env, options } = withMore(more);
  return run(() => exportTenant(env, tenant, { out, database: nameOf(from), ...options }));
};
export const imported = (file: string, to: Place, more: More = {}) => {
  const { env, options } = withMore(more);
  return run(() => importTenant(env, file, { database: nameOf(to), ...options }));
};
type Named = Pick<Place, 'superuserUrl'>;
export const moved = (from: Named, to: Named | null, options: Partial<MoveOptions> = {}, tenant = DEFAULT_TENANT) =>
  run(() => moveTenant(env, tenant, { database: nameOf(from), ...(to ? { to: to.superuserUrl! } : {}), ...options }));
