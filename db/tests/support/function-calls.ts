// How often functions run, which tells about the work of a statement where times would depend on the machine.
import { claimsOf } from './sessions.ts';
import type { TestDatabase } from './test-database.ts';

/** How often each function runs for the statement of a caller, by name. Nothing is kept. */
export const functionCalls = (
  db: Pick<TestDatabase, 'inSuperuserSession'>,
  caller: string,
  statement: string,
  values: unknown[],
): Promise<Record<string, number>> =>
  db.inSuperuserSession(async (client) => {
    await client.query("set track_functions = 'all'");
    // Counts of earlier transactions are among those of this one until they are flushed.
    await client.query('select pg_stat_force_next_flush()');
    await client.query('begin');
    for (const [name, value] of Object.entries(claimsOf(caller)))
      await client.query('select set_config($1, $2, true)', [name, value]);
    await client.query(statement, values);
    await client.query("select set_config('role', 'none', true)");
    const { rows } = await client.query(
      "select schemaname || '.' || funcname as name, calls::integer from pg_stat_xact_user_functions",
    );
    await client.query('rollback');
    return Object.fromEntries(rows.map(({ name, calls }) => [name, calls]));
  });
