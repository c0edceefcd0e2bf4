// The primary of a cluster is killed under load, with the files of docker/ha: what clients see meanwhile, and what is there afterwards.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { eventually } from '../db/tests/support/eventually.ts';
import { runCommand } from '../gateway/tests/support/command.ts';
import { startTestGateway, type TestGateway } from '../gateway/tests/support/gateway.ts';
import { standIn } from '../gateway/tests/support/stand-in.ts';
import { startClients } from './support/clients.ts';
import { type Cluster, startCluster } from './support/ha.ts';
import { programs } from './support/programs.ts';

const WRITERS = 4;
/** So many acknowledged writes count as proof that writes go on. */
const ENOUGH = 20;

describe('a cluster of three nodes whose primary is killed', () => {
  let cluster: Cluster;
  let gateway: TestGateway;

  beforeAll(async () => {
    cluster = await startCluster(programs()!);
    const folder = mkdtempSync(join(tmpdir(), 'l9-failover-'));
    const set = await runCommand(['db', 'setup'], { home: folder, env: await cluster.setupEnv() });
    if (set.code !== 0) throw new Error(set.err);
    gateway = await startTestGateway({
      embedder: standIn,
      env: { RATE_LIMIT_STORE: 'database' },
      home: {
        home: folder,
        env: { L9_MEMORY_HOME: folder, DATABASE_URL: await cluster.gatewayUrl() },
        superuserUrl: await cluster.superuserUrl('l9_memory'),
        drop: async () => rmSync(folder, { recursive: true, force: true }),
      },
    });
  });
  afterAll(async () => {
    await gateway?.close();
    await cluster?.close();
  });

  /** Waits until each row so far is sealed, and returns how many seals there are. */
  async function sealed(): Promise<number> {
    const [{ newest }] = await gateway.asSuperuser('select max(occurred_at)::text as newest from public.audit_log');
    return eventually(async () => {
      const [{ seals, last }] = await gateway.asSuperuser(
        'select count(*)::integer as seals, max(last_occurred_at) >= $1::timestamptz as last from public.audit_seals',
        [newest],
      );
      return last && seals;
    });
  }

  it('goes on at another node without losing an acknowledged write, a seal, or the chain of the audit log', async () => {
    const clients = startClients(gateway.instance.url, await gateway.token({ caller: 'C' }), WRITERS);
    const { saves, searches, refused, broken } = clients;
    const seals: number[] = [];
    const kills: { at: number; resumed: number }[] = [];
    try {
      for (const kill of [cluster.killServer, cluster.killNode]) {
        await cluster.replicated(2);
        const before = saves.length;
        await eventually(() => saves.length >= before + ENOUGH);
        seals.push(await sealed());
        const old = (await eventually(cluster.primary))!;
        const at = performance.now();
        kill(old);
        const isAfter = ({ began }: { began: number }) => began > at;
        await eventually(async () => saves.filter(isAfter).length >= ENOUGH && (await cluster.primary()) !== old);
        kills.push({ at, resumed: saves.find(isAfter)!.ended });
        process.stdout.write(
          `${kill.name}: writes went on after ${((kills.at(-1)!.resumed - at) / 1_000).toFixed(1)} s\n`,
        );
        if (kill === cluster.killNode) await cluster.startNode(old);
      }
    } finally {
      await clients.stop();
    }
    seals.push(await sealed());
    // A node that was killed comes back as a replica.
    await cluster.replicated(2);

    expect(broken).toStrictEqual([]);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.filter(({ status, retryAfter }) => status !== 503 || !(Number(retryAfter) >= 1))).toStrictEqual([]);

    const stored = await gateway.asSuperuser('select packet_id from public.packet_store');
    const ids = new Set(stored.map(({ packet_id }) => packet_id));
    expect(saves.filter(({ packetId }) => !ids.has(packetId!))).toStrictEqual([]);
    const audited = await gateway.asSuperuser('select row_id from public.audit_log where row_id is not null');
    const recorded = new Set(audited.map(({ row_id }) => row_id));
    expect(saves.filter(({ packetId }) => !recorded.has(packetId!))).toStrictEqual([]);
    expect(seals).toStrictEqual([...new Set(seals)].sort((a, b) => a - b));
    const verified = await runCommand(['audit', 'verify', '--url', gateway.instance.url], {
      home: gateway.home.home,
    });
    expect(verified, verified.err).toMatchObject({ code: 0, out: expect.stringMatching(/^ok: /) });

    // A search does not wait for a replica. Its record can be lost, unless a write began later and was acknowledged before the failover.
    const found = await gateway.asSuperuser("select correlation_id from public.audit_log where operation = 'SEARCH'");
    const kept = new Set(found.map(({ correlation_id }) => correlation_id));
    const lost = searches.filter(({ reference }) => !kept.has(reference));
    process.stdout.write(
      `${saves.length} writes and ${searches.length} searches were acknowledged; ${lost.length} records of searches were lost\n`,
    );
    const isFollowed = ({ ended }: { ended: number }) => {
      const failover = kills.find(({ resumed }) => resumed > ended);
      return !failover || saves.some((save) => save.began > ended && save.ended < failover.at);
    };
    expect(lost.filter(isFollowed)).toStrictEqual([]);
  });

  it('acknowledges no write that PostgreSQL stopped holding back until a replica has it', async () => {
    const replicas = (await cluster.members()).filter(({ state }) => state === 'streaming');
    const receivers = await Promise.all(replicas.map(({ name }) => receiverOf(name)));
    const content = 'A write that no replica confirmed.';
    const save = `mutation { saveMemory(input: { content: "${content}", scope: "global" }) { status } }`;
    for (const pid of receivers) process.kill(pid, 'SIGSTOP');
    try {
      const answer = gateway.graphql('C', save);
      // The same happens when the time of a statement is over.
      await eventually(async () => {
        const [{ canceled }] = await gateway.asSuperuser(
          `select count(pg_cancel_backend(pid))::integer as canceled from pg_stat_activity
           where wait_event = 'SyncRep' and application_name = 'l9-memory'`,
        );
        return canceled > 0;
      });
      expect(await answer).toMatchObject({ status: 503, errors: [{ extensions: { sqlstate: 'L9BSY' } }] });
    } finally {
      for (const pid of receivers) process.kill(pid, 'SIGCONT');
    }
    expect(await gateway.query('C', save)).toStrictEqual({ saveMemory: { status: 'skipped_dedupe' } });
  });

  async function receiverOf(node: string): Promise<number> {
    const url = new URL(await cluster.superuserUrl());
    url.port = String(await cluster.portOfNode(node));
    const client = new pg.Client({ connectionString: url.href });
    await client.connect();
    const { rows } = await client.query("select pid from pg_stat_activity where backend_type = 'walreceiver'");
    await client.end();
    return rows[0].pid;
  }
});
