// Deletes the vectors of a replaced model in batches, and then its indexes.
import type { Logger } from 'pino';
import { SQLSTATE, sqlstateOf } from '../base/errors.ts';
import type { WorkerPool } from '../database/index.ts';
import { isTrue, type PeriodicJob } from './periodic.ts';

const EVERY_MS = 15_000;
const BATCH = 1_000;

export const dropLeavingModels: PeriodicJob = {
  name: 'drop_leaving_models',
  everyMs: EVERY_MS,
  isDue: isTrue("exists (select from public.embedding_models m where m.state = 'leaving')"),
  async run(pool, logger, signal) {
    const { rows } = await pool.query<{ model: string }>(
      "select model from public.embedding_models where state = 'leaving'",
    );
    for (const { model } of rows) await dropModel(pool, model, logger, { signal });
  },
};

/** Deletes the remaining vectors and the indexes of a model. False if its indexes were in use; a later run retries. */
export async function dropModel(
  pool: WorkerPool,
  model: string,
  logger: Logger,
  { signal, onDropped }: { signal?: AbortSignal; onDropped?: (vectors: number) => void } = {},
): Promise<boolean> {
  let total = 0;
  for (let after: string | null = null; !signal?.aborted; ) {
    const { rows }: { rows: { dropped: string; last_packet_id: string | null }[] } = await pool.query(
      'select * from embeddings.drop_leaving_vectors($1, $2, $3)',
      [model, BATCH, after],
    );
    const dropped = Number(rows[0]!.dropped);
    total += dropped;
    onDropped?.(total);
    // A batch may end within a memory whose other vectors the next batch skips, so the loop restarts until none are left.
    if (dropped === 0 && after === null) break;
    after = rows[0]!.last_packet_id;
  }
  try {
    const { rows } = await pool.query<{ dropped: boolean }>('select embeddings.drop_embedding_model($1) as dropped', [
      model,
    ]);
    if (rows[0]?.dropped) logger.info({ model, vectors: total }, 'an embedding model was dropped');
    return rows[0]?.dropped === true;
  } catch (error) {
    if (sqlstateOf(error) !== SQLSTATE.lockNotAvailable) throw error;
    return false;
  }
}
