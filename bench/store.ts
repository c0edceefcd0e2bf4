// What a batch of memory_store costs above the same memories by save_memory in one transaction.
import { newPool } from '../db/tests/support/migrations.ts';
import { toSettings } from '../gateway/src/auth/identity.ts';
import { inTransaction } from '../gateway/src/database/index.ts';
import { memoryStore } from '../gateway/src/operations/memory-store.ts';
import { type Bench, ratio } from './support/bench.ts';
import { inTurn, quantile, ratioOf, timed, warmUpInTurn } from './support/load.ts';
import { agentOf } from './support/tenants.ts';
import { memoryText } from './support/texts.ts';

const BATCH = 500;
const PROJECT = 'bench-stores';
const savesOf = (content: string, envelope: string) => `
  select count((public.save_memory(
    content => ${content}, kind => s.kind, envelope => ${envelope}, project_id => '${PROJECT}')).status)
  from jsonb_to_recordset($1) as s (kind text, data jsonb)`;

/** Items of a kind with fields, and of one without. */
const shapes = {
  notes: (text: string) => ({ kind: 'note', data: { content: text } }),
  issues: (text: string, n: number) => ({
    kind: 'issue',
    data: { tracker: 'bench', external_id: String(n), title: text.slice(0, 60), status: 'open', description: text },
  }),
};
const saves = { notes: savesOf("s.data ->> 'content'", "'{}'"), issues: savesOf('null', 's.data') };

export const store: Bench = {
  name: 'store',
  about: `${BATCH} memories by one memory_store, against as many save_memory in one transaction`,
  async run(context) {
    await context.stopGateway();
    const { id: tenant } = context.tenant('two percent');
    const agents = newPool({ connectionString: context.database.home.env.DATABASE_URL!, max: 1 });
    const settings = toSettings(agentOf(tenant), 'memoryStore');
    let serial = Date.now() % 1e9;
    const next = (shape: keyof typeof shapes) =>
      Array.from({ length: BATCH }, () => {
        serial += 1;
        return { ...shapes[shape](`store ${serial} ${memoryText(serial, serial % 200)}`, serial), project_id: PROJECT };
      });
    const byStore = (shape: keyof typeof shapes) => async () => {
      const input = memoryStore.input.parse({ items: next(shape) });
      // Each part of a batch has a transaction of its own, as in the gateway.
      const query = <Row>(text: string, values: unknown[]) =>
        inTransaction(agents, settings, async (client) => (await client.query(text, values)).rows as Row[]);
      const run = () =>
        memoryStore.perform!(input, { query } as Parameters<NonNullable<typeof memoryStore.perform>>[1]);
      const time = await timed(async () => {
        const { stored } = await run();
        if (stored.length !== BATCH) throw new Error(`${stored.length} were stored`);
      });
      return [time];
    };
    const bySaves = (shape: keyof typeof shapes) => async () => {
      const values = [JSON.stringify(next(shape))];
      const query = { name: `saves of ${shape}`, text: saves[shape], values };
      return [await timed(() => inTransaction(agents, settings, (client) => client.query(query)))];
    };
    try {
      const rows = [];
      for (const shape of ['notes', 'issues'] as const) {
        const turns = { ours: byStore(shape), theirs: bySaves(shape) };
        await warmUpInTurn(context.seconds, turns);
        const times = await inTurn(Math.max(1, Math.round(context.seconds)), turns);
        rows.push(
          ratio({
            what: `memory_store of ${BATCH} ${shape}, p50`,
            against: `${BATCH} save_memory in one transaction`,
            ours: quantile(times.ours.flat(), 0.5),
            theirs: quantile(times.theirs.flat(), 0.5),
            figure: ratioOf(times.ours, times.theirs, 0.5),
            unit: 'ms',
            goal: { atMost: 1.3 },
          }),
        );
      }
      return rows;
    } finally {
      await context.database.superuser.query('truncate embeddings.pending_embeddings');
      await context.database.superuser.query('delete from public.packet_store where project_id = $1', [PROJECT]);
      await agents.end();
    }
  },
};
