import type { Logger } from 'pino';
import type { Database } from '../database/index.ts';
import { KnownError } from '../errors.ts';

const REFRESH_MS = 5_000;

export interface Actors {
  /** The role of an active actor. Throws L9AUT for one that is not known. Asks memory, never the database. */
  roleOf(tenantId: string, caller: string): string;
  refresh(): Promise<void>;
  close(): void;
}

/** The known callers, kept in memory, so that strangers are turned away without a database call. */
export async function watchActors(database: Database, logger: Logger): Promise<Actors> {
  let roles = new Map<string, string>();
  const key = (tenantId: string, caller: string) => `${tenantId} ${caller}`;

  const refresh = async () => {
    const { rows } = await database.workerPool.query<{ tenant_id: string; caller: string; role: string }>(
      'select tenant_id, caller, role from public.actors where is_active',
    );
    roles = new Map(rows.map((row) => [key(row.tenant_id, row.caller), row.role]));
  };
  await refresh();

  const timer = setInterval(() => {
    refresh().catch((error: Error) =>
      logger.warn({ code: (error as { code?: string }).code }, 'could not read the list of actors'),
    );
  }, REFRESH_MS).unref();

  return {
    roleOf(tenantId, caller) {
      const role = roles.get(key(tenantId, caller));
      if (!role) throw new KnownError('L9AUT', 'caller: not a known caller of this tenant', 'caller');
      return role;
    },
    refresh,
    close: () => clearInterval(timer),
  };
}
