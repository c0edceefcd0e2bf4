// The embedded engine has no autovacuum, and without statistics its planner assumes that every table is tiny.
import type pg from 'pg';

const FIRST_AFTER = 50;
const AGAIN_AFTER = 0.2;

/** Takes the number of memories embedded since the last call, and analyzes the tables when they have grown enough. */
export function statisticsKeeper(workerPool: pg.Pool): (embedded: number) => Promise<void> {
  let since = 0;
  return async (embedded) => {
    since += embedded;
    const { rows } = await workerPool.query<{ reltuples: number }>(
      "select reltuples from pg_catalog.pg_class where oid = 'public.packet_store'::regclass",
    );
    const analyzed = rows[0]?.reltuples ?? -1;
    if (since < Math.max(FIRST_AFTER, analyzed * AGAIN_AFTER)) return;
    await workerPool.query('analyze public.packet_store, public.memory_embeddings');
    since = 0;
  };
}
