// Loaded before the command (node --import): kills the process, as kill -9 does, while its third batch is under way.
import pg from 'pg';

const BATCH = 3;
let batches = 0;
const { query } = pg.Client.prototype;
pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
  if (typeof args[0] === 'string' && args[0].includes('from legacy_import.import_legacy(')) {
    batches += 1;
    const kill = () => process.kill(process.pid, 'SIGKILL');
    // A server is left with a statement that it works on; the embedded engine lets no timer in while it works.
    if (batches === BATCH && process.env.DATABASE_OWNER_URL) setTimeout(kill, 5);
    else if (batches === BATCH) kill();
  }
  return (query as (...args: unknown[]) => unknown).apply(this, args);
} as typeof query;
