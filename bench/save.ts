// The cost of a save above a bare insert: the same rows into the same table with the same indexes, by a superuser without
// triggers, foreign keys and policies. The bare insert computes no hash, checks no rights, and writes no audit or queue row.
import { newPool } from '../db/tests/support/migrations.ts';
import { toSettings } from '../gateway/src/auth/identity.ts';
import { inTransaction } from '../gateway/src/database/index.ts';
import { saveMemory } from '../gateway/src/operations/save-memory.ts';
import { type Bench, ratio } from './support/bench.ts';
import { inTurn, quantile, ratioOf, timed, warmUpInTurn } from './support/load.ts';
import { agentOf } from './support/tenants.ts';
import { memoryText } from './support/texts.ts';

const SINGLES = 20;
const BATCH = 1_000;
const PROJECT = 'bench-saves';

// A table without triggers is given what triggers would fill: the time, the language, and the words in the usual way.
const bareColumns =
  'envelope, metadata, project_id, scope, content_hash, identity_hash, tenant_id, "timestamp", language, words';
const bareInsert = `insert into public.packet_store (${bareColumns})
  select jsonb_build_object('content', s.content), '{"agent": "cursor", "tool_name": "bench", "creator": "Cursor-IDE", "source": "cursor-ide"}',
    '${PROJECT}', 'developer', s.hash, s.hash, $3, now(), 'english', to_tsvector('pg_catalog.english', s.content)
  from unnest($1::text[], $2::bytea[]) as s (content, hash)`;
const batchInsert = `insert into public.packet_store (envelope, scope, project_id)
  select jsonb_build_object('content', c), 'developer', '${PROJECT}' from unnest($1::text[]) as c`;

export const save: Bench = {
  name: 'save',
  about: 'saves, one at a time and in batches of 1,000, against bare inserts into the same indexes',
  async run(context) {
    await context.stopGateway();
    const { superuserUrl, env } = context.database.home;
    const { id: tenant } = context.tenant('two percent');
    const agents = newPool({ connectionString: env.DATABASE_URL!, max: 1 });
    const bare = newPool({
      connectionString: superuserUrl!,
      max: 1,
      options: '-c session_replication_role=replica',
    });
    const settings = toSettings(agentOf(tenant), 'saveMemory');
    const { role: _, ...withoutRole } = settings;
    let serial = Date.now() % 1e9;
    const text = () => {
      serial += 1;
      return `save ${serial} ${memoryText(serial, serial % 200)}`;
    };
    // The hashes of the bare inserts are computed outside the timed part.
    const prepare = async (count: number) => {
      const contents = Array.from({ length: count }, text);
      const { rows } = await context.database.superuser.query(
        'select array_agg(packets.content_hash(c) order by n) as hashes from unnest($1::text[]) with ordinality as t (c, n)',
        [contents],
      );
      return [contents, rows[0].hashes as Buffer[]] as const;
    };
    const insertBare = (contents: readonly string[], hashes: readonly Buffer[]) =>
      inTransaction(bare, withoutRole, (client) =>
        client.query({ name: 'bare', text: bareInsert, values: [contents, hashes, tenant] }),
      );

    const singles = {
      ours: async () => {
        const contents = Array.from({ length: SINGLES }, text);
        const times: number[] = [];
        for (const content of contents) {
          const input = saveMemory.input.parse({ content, project_id: PROJECT });
          times.push(
            await timed(async () => {
              const { status } = await inTransaction(agents, settings, (client) =>
                saveMemory.run(client, input, null, []),
              );
              if (status !== 'inserted') throw new Error(`a save was ${status}`);
            }),
          );
        }
        return times;
      },
      theirs: async () => {
        const [contents, hashes] = await prepare(SINGLES);
        const times: number[] = [];
        for (const [n, content] of contents.entries())
          times.push(await timed(() => insertBare([content], [hashes[n]!])));
        return times;
      },
    };
    const batches = {
      ours: async () => {
        const contents = Array.from({ length: BATCH }, text);
        const query = { name: 'batch', text: batchInsert, values: [contents] };
        return [await timed(() => inTransaction(agents, settings, (client) => client.query(query)))];
      },
      theirs: async () => {
        const [contents, hashes] = await prepare(BATCH);
        return [await timed(() => insertBare(contents, hashes))];
      },
    };
    try {
      await warmUpInTurn(context.seconds, singles);
      const one = await inTurn(Math.max(2, Math.round(context.seconds * 3)), singles);
      await warmUpInTurn(context.seconds, batches);
      const many = await inTurn(Math.max(1, Math.round(context.seconds * 2)), batches);
      const row = (what: string, times: typeof one, atMost: number) =>
        ratio({
          what,
          against: 'bare insert into the same indexes',
          ours: quantile(times.ours.flat(), 0.5),
          theirs: quantile(times.theirs.flat(), 0.5),
          figure: ratioOf(times.ours, times.theirs, 0.5),
          unit: 'ms',
          goal: { atMost },
        });
      return [
        row('save, one at a time, each its own transaction, p50', one, 1.5),
        row(`save, ${BATCH.toLocaleString('en')} in one statement, p50`, many, 1.2),
      ];
    } finally {
      // This restores the data for the next run.
      await bare.query('set session_replication_role = origin');
      await bare.query('truncate embeddings.pending_embeddings');
      await bare.query('delete from public.packet_store where project_id = $1', [PROJECT]);
      await Promise.all([agents.end(), bare.end()]);
    }
  },
};
