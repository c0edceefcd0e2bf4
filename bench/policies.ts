// The cost of row-level security: the same statements as an agent, and as a superuser with the policies as WHERE
// conditions. l9_owner cannot be used instead, because its own policies apply to it.
import type pg from 'pg';
import { newPool } from '../db/tests/support/migrations.ts';
import { toSettings } from '../gateway/src/auth/identity.ts';
import { inTransaction } from '../gateway/src/database/index.ts';
import { type Bench, type Context, type Row, ratio } from './support/bench.ts';
import { inTurn, quantile, ratioOf, timed, warmUpInTurn } from './support/load.ts';
import { agentOf, type TenantName } from './support/tenants.ts';

const columns = 'p.packet_id, p.packet_type, p.content, p.scope, p.project_id, p.tags, p."timestamp"';
const visible = `p.tenant_id = $1 and p.scope = any ('{developer,global}') and p.org_id is null and p.user_id is null
  and (p.ttl is null or p.ttl > now())`;

interface Statement {
  name: string;
  ours: string;
  theirs: string;
  /** The number of repetitions per round: short statements are repeated more often. */
  times: number;
  needsId: boolean;
}

const statements: Statement[] = [
  {
    name: 'list of 20',
    ours: `select ${columns} from public.packet_store p order by p.packet_id desc limit 20`,
    theirs: `select ${columns} from public.packet_store p where ${visible} order by p.packet_id desc limit 20`,
    times: 20,
    needsId: false,
  },
  {
    name: 'count',
    ours: 'select count(*) from public.packet_store p',
    theirs: `select count(*) from public.packet_store p where ${visible}`,
    times: 1,
    needsId: false,
  },
  {
    name: 'point read',
    ours: `select ${columns} from public.packet_store p where p.packet_id = $1`,
    theirs: `select ${columns} from public.packet_store p where ${visible} and p.packet_id = $2`,
    times: 50,
    needsId: true,
  },
];

async function compare(context: Context, name: TenantName, agents: pg.Pool, statement: Statement): Promise<Row> {
  const { superuser } = context.database;
  const { id: tenant, visible } = context.tenant(name);
  const { rows: found } = await superuser.query(
    "select packet_id from public.packet_store where tenant_id = $1 and scope = 'developer' order by content_hash limit 200",
    [tenant],
  );
  const ids = found.map(({ packet_id }) => packet_id as string);
  const settings = toSettings(agentOf(tenant), 'bench');
  const { role: _, ...withoutRole } = settings;

  const side = (pool: pg.Pool, of: typeof settings, label: string, text: string, values: (id: string) => string[]) => ({
    /** Runs each in its own transaction, of which only the statement is timed. */
    async run(round: number): Promise<number[]> {
      const times: number[] = [];
      for (let n = 0; n < statement.times; n++) {
        const query = { name: label, text, values: values(ids[(round * statement.times + n) % ids.length]!) };
        await inTransaction(pool, of, async (client) => times.push(await timed(() => client.query(query))));
      }
      return times;
    },
    answer: (id: string) => inTransaction(pool, of, async (client) => (await client.query(text, values(id))).rows),
  });
  const agent = side(agents, settings, `${statement.name} as agent`, statement.ours, (id) =>
    statement.needsId ? [id] : [],
  );
  const root = side(superuser, withoutRole, `${statement.name} as superuser`, statement.theirs, (id) =>
    statement.needsId ? [tenant, id] : [tenant],
  );
  const [asAgent, asRoot] = [await agent.answer(ids[0]!), await root.answer(ids[0]!)];
  if (JSON.stringify(asAgent) !== JSON.stringify(asRoot)) throw new Error(`${statement.name}: the two answers differ`);

  await warmUpInTurn(context.seconds, { ours: agent.run, theirs: root.run });
  const times = await inTurn(Math.max(2, Math.round(context.seconds * 5)), { ours: agent.run, theirs: root.run });
  return ratio({
    what: `${statement.name} under RLS, of ${visible.toLocaleString('en')} visible`,
    against: 'the same as superuser, explicit WHERE',
    ours: quantile(times.ours.flat(), 0.5),
    theirs: quantile(times.theirs.flat(), 0.5),
    figure: ratioOf(times.ours, times.theirs, 0.5),
    unit: 'ms',
    goal: { atMost: 1.2 },
  });
}

export const policies: Bench = {
  name: 'policies',
  about: 'list, count and point read under row-level security, against an explicit WHERE without',
  async run(context) {
    const agents = newPool({ connectionString: context.database.home.env.DATABASE_URL!, max: 1 });
    const rows: Row[] = [];
    try {
      for (const statement of statements) {
        for (const name of ['two percent', 'sixty percent'] as const)
          rows.push(await compare(context, name, agents, statement));
      }
    } finally {
      await agents.end();
    }
    return rows;
  },
};
