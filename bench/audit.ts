// The cost of auditing: the same writes with and without the audit log, in a separate database.
import pg from 'pg';
import { newPool } from '../db/tests/support/migrations.ts';
import { claimsOf } from '../db/tests/support/sessions.ts';
import { inTransaction } from '../gateway/src/database/index.ts';
import { createTestHome } from '../gateway/tests/support/home.ts';
import { type Bench, ratio } from './support/bench.ts';
import { inTurn, quantile, ratioOf, timed, warmUpInTurn } from './support/load.ts';
import { memoryText } from './support/texts.ts';

const BATCH = 1_000;
const WRITERS = 8;

export const audit: Bench = {
  name: 'audit',
  about: 'writes with the audit log and without',
  async run({ serverUrl, seconds }) {
    const home = await createTestHome(serverUrl);
    const root = new pg.Client({ connectionString: home.superuserUrl! });
    const pool = newPool({ connectionString: home.env.DATABASE_URL!, max: WRITERS });
    const settings = claimsOf('C');
    const writes = Math.ceil(Math.min(60, seconds * 8));
    let serial = 0;
    const text = () => `audit ${serial++} ${memoryText(serial, 0)}`;

    /** One statement of 1,000 memories. */
    const batch = () =>
      inTransaction(pool, settings, async (client) => {
        const contents = Array.from({ length: BATCH }, text);
        return [
          await timed(() =>
            client.query(
              `insert into public.packet_store (envelope, scope) select jsonb_build_object('content', c), 'global' from unnest($1::text[]) c`,
              [contents],
            ),
          ),
        ];
      });

    /** Eight connections, each writing one memory per transaction. Returns the time of each, including the commit. */
    async function concurrent(): Promise<number[]> {
      const times: number[] = [];
      await Promise.all(
        Array.from({ length: WRITERS }, async () => {
          for (let n = 0; n < writes; n++) {
            const envelope = JSON.stringify({ content: text() });
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

    const both = (write: () => Promise<number[]>) => {
      const side = (action: 'enable' | 'disable') => async () => {
        await root.query(`alter table public.packet_store ${action} trigger _500_audit_insert`);
        return write();
      };
      return { ours: side('enable'), theirs: side('disable') };
    };

    try {
      await root.connect();
      await warmUpInTurn(seconds, both(batch));
      await warmUpInTurn(seconds, both(concurrent));
      // Sealing runs concurrently, as in production.
      const sealing = setInterval(() => void root.query('select audit.seal_audit()').catch(() => {}), 10_000);
      const batches = await inTurn(Math.max(1, Math.round(seconds * 2.5)), both(batch));
      const singles = await inTurn(Math.max(1, Math.round(seconds * 1.2)), both(concurrent));
      clearInterval(sealing);
      const row = (what: string, times: typeof batches, q: number, figure: number, atMost?: number) =>
        ratio({
          what,
          against: 'without audit',
          ours: quantile(times.ours.flat(), q),
          theirs: quantile(times.theirs.flat(), q),
          figure,
          unit: 'ms',
          ...(atMost ? { goal: { atMost } } : {}),
        });
      const pooled = (q: number) => quantile(singles.ours.flat(), q) / quantile(singles.theirs.flat(), q);
      return [
        row(
          `audit: ${BATCH.toLocaleString('en')} memories in one statement, p50`,
          batches,
          0.5,
          ratioOf(batches.ours, batches.theirs, 0.5),
          1.2,
        ),
        row(`audit: ${WRITERS} writers, one memory a transaction, p50`, singles, 0.5, pooled(0.5)),
        row(`audit: ${WRITERS} writers, one memory a transaction, p95`, singles, 0.95, pooled(0.95), 1.3),
      ];
    } finally {
      await pool.end();
      await root.end();
      await home.drop();
    }
  },
};
