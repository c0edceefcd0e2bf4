// The cost of looking for secrets: the same saves of 2 kB with the guard of memories and without, in a separate database.
import pg from 'pg';
import { newPool } from '../db/tests/support/migrations.ts';
import { claimsOf } from '../db/tests/support/sessions.ts';
import { inTransaction } from '../gateway/src/database/index.ts';
import { createTestHome } from '../gateway/tests/support/home.ts';
import { type Bench, ratio } from './support/bench.ts';
import { inTurn, quantile, ratioOf, timed, warmUpInTurn } from './support/load.ts';
import { memoryText } from './support/texts.ts';

const SINGLES = 40;
const LENGTH = 2_000;
const saving = `select r.status from public.save_memory(content => $1, scope => 'global') as r`;

export const secrets: Bench = {
  name: 'secrets',
  about: 'saves of 2 kB with the guard against secrets and without',
  async run({ serverUrl, seconds }) {
    const home = await createTestHome(serverUrl);
    const root = new pg.Client({ connectionString: home.superuserUrl! });
    const pool = newPool({ connectionString: home.env.DATABASE_URL!, max: 1 });
    let serial = 0;

    /** Saves in one transaction, each of which is timed without the commit, whose cost depends on the disk. */
    const saves = (beginning: string) => async () => {
      const times: number[] = [];
      await inTransaction(pool, claimsOf('C'), async (client) => {
        for (let n = 0; n < SINGLES; n++) {
          const rest = memoryText(++serial, serial % 200) + memoryText(serial + 1e6, serial % 200);
          const query = { name: 'save', text: saving, values: [`${serial} ${beginning}${rest}`.slice(0, LENGTH)] };
          times.push(await timed(() => client.query(query)));
        }
      });
      // The first one prepares what the change of the trigger made stale.
      return times.slice(1);
    };
    const both = (save: () => Promise<number[]>) => {
      const side = (action: 'enable' | 'disable') => async () => {
        await root.query(`alter table public.packet_store ${action} trigger _370_guard_secrets`);
        return save();
      };
      return { ours: side('enable'), theirs: side('disable') };
    };
    const measure = async (what: string, beginning: string, atMost?: number) => {
      const sides = both(saves(beginning));
      await warmUpInTurn(seconds, sides);
      const times = await inTurn(Math.max(2, Math.round(seconds * 2.5)), sides);
      return ratio({
        what,
        against: 'without the guard',
        ours: quantile(times.ours.flat(), 0.5),
        theirs: quantile(times.theirs.flat(), 0.5),
        figure: ratioOf(times.ours, times.theirs, 0.5),
        unit: 'ms',
        ...(atMost ? { goal: { atMost } } : {}),
      });
    };

    try {
      await root.connect();
      return [
        await measure('save of 2 kB looked at for secrets, p50', '', 1.15),
        // The quick tests look longer at names and long words.
        await measure(
          'the same with words that often stand beside secrets, p50',
          'the token 5 of gateway/src/database/transaction-settings.ts, password: string; ',
        ),
        await measure(
          'the same with what looks like a secret at first sight, p50',
          'Set DB_PASSWORD=process.env.DB_PASSWORD2; ',
        ),
      ];
    } finally {
      await pool.end();
      await root.end();
      await home.drop();
    }
  },
};
