// What auditing costs, against the same writes without: `npm run bench:audit`, with TEST_DATABASE_URL of a superuser. It
// makes a database of its own there and drops it. Both sides alternate within one run, so that the ratios carry over
// to other machines, and the milliseconds don't.
import pg from 'pg';
import { inTransaction } from '../gateway/src/database/index.ts';
import { createTestHome, serverUrl } from '../gateway/tests/support/databases.ts';
import { claimsOf } from '../gateway/tests/support/house.ts';

const BATCH = 1_000;
const BATCH_ROUNDS = 25;
const WRITERS = 8;
const WRITES = 60;
const WRITE_ROUNDS = 12;
const LIMITS = { batch: 1.2, concurrent: 1.3 };

if (!serverUrl) throw new Error('TEST_DATABASE_URL: the URL of a superuser on a PostgreSQL 18 server');
const home = await createTestHome();
const root = new pg.Client({ connectionString: home.superuserUrl! });
const pool = new pg.Pool({ connectionString: home.env.DATABASE_URL!, max: WRITERS });
const sides = ['without', 'with'] as const;
type Side = (typeof sides)[number];

const audit = (side: Side) =>
  root.query(`alter table public.packet_store ${side === 'with' ? 'enable' : 'disable'} trigger _500_audit_insert`);
const quantile = (values: number[], q: number) => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(Math.floor(sorted.length * q), sorted.length - 1)]!;
};
const words = Array.from({ length: 400 }, (_, n) => `word${n}`);
const text = (seed: string) =>
  `${seed} ${Array.from({ length: 120 }, () => words[Math.floor(Math.random() * words.length)]).join(' ')}`;
const settings = claimsOf('C');
let serial = 0;

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** One statement of 1,000 memories. */
const batch = () =>
  inTransaction(pool, settings, async (client) => {
    const contents = Array.from({ length: BATCH }, () => text(`batch ${serial++}`));
    return timed(() =>
      client.query(
        `insert into public.packet_store (envelope, scope) select jsonb_build_object('content', c), 'global' from unnest($1::text[]) c`,
        [contents],
      ),
    );
  });

/** Eight connections that each write one memory a transaction; the time of each, commit included. */
async function concurrent(): Promise<number[]> {
  const times: number[] = [];
  await Promise.all(
    Array.from({ length: WRITERS }, async () => {
      for (let n = 0; n < WRITES; n++) {
        const envelope = JSON.stringify({ content: text(`single ${serial++}`) });
        times.push(
          await timed(() =>
            inTransaction(pool, settings, (client) =>
              client.query("insert into public.packet_store (envelope, scope) values ($1, 'global')", [envelope]),
            ),
          ),
        );
      }
    }),
  );
  return times;
}

try {
  await root.connect();
  const times: Record<'batch' | 'concurrent', Record<Side, number[]>> = {
    batch: { without: [], with: [] },
    concurrent: { without: [], with: [] },
  };
  for (const side of sides) {
    await audit(side);
    await batch();
    await concurrent();
  }
  // Seals are made meanwhile, as in production.
  const sealing = setInterval(() => void root.query('select l9_private.seal_audit()').catch(() => {}), 10_000);
  for (let round = 0; round < BATCH_ROUNDS; round++) {
    for (const side of round % 2 ? sides : [...sides].reverse()) {
      await audit(side);
      times.batch[side].push(await batch());
    }
  }
  for (let round = 0; round < WRITE_ROUNDS; round++) {
    for (const side of round % 2 ? sides : [...sides].reverse()) {
      await audit(side);
      times.concurrent[side].push(...(await concurrent()));
    }
  }
  clearInterval(sealing);

  const rows = [
    [`${BATCH} memories in one statement, median`, times.batch, 0.5, LIMITS.batch],
    [`${WRITERS} writers, one memory a transaction, median`, times.concurrent, 0.5, null],
    [`${WRITERS} writers, one memory a transaction, p95`, times.concurrent, 0.95, LIMITS.concurrent],
  ] as const;
  console.log('| | without audit | with audit | ratio | limit |\n|---|---|---|---|---|');
  for (const [name, both, q, limit] of rows) {
    const [without, withAudit] = [quantile(both.without, q), quantile(both.with, q)];
    // Of batches, one by one with the one beside it, whatever else the machine was doing then.
    const ratio =
      both === times.batch
        ? quantile(
            both.with.map((time, round) => time / both.without[round]!),
            q,
          )
        : withAudit / without;
    console.log(
      `| ${name} | ${without.toFixed(1)} ms | ${withAudit.toFixed(1)} ms | ${ratio.toFixed(2)}× | ${limit ? `${limit}×` : ''} |`,
    );
    if (limit && ratio > limit) process.exitCode = 1;
  }
} finally {
  await pool.end();
  await root.end();
  await home.drop();
}
