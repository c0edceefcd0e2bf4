// A gateway that reads from streaming replicas of its own primary, and what tests ask of it.
import { eventually } from '../../db/tests/support/eventually.ts';
import { startTestGateway, type TestGateway } from '../../gateway/tests/support/gateway.ts';
import { createTestHome } from '../../gateway/tests/support/home.ts';
import { standIn } from '../../gateway/tests/support/stand-in.ts';
import { type Server, startPrimary, startReplica } from './postgres.ts';
import { openWorkplace } from './programs.ts';

export interface Replicated {
  gateway: TestGateway;
  replicas: Server[];
  /** The URL of the gateway's login on each replica. */
  urls: string[];
  /** Waits until the gateway reads from this replica, or does not. */
  used(isUsed: boolean, replica?: number): Promise<void>;
  /** By how much the counts of reads grow, by outcome; of one replica, or of all of them. */
  counted(work: () => Promise<unknown>, replica?: number): Promise<Record<Outcome, number>>;
  /** Waits until the replicas have replayed all that was written. */
  caughtUp(): Promise<void>;
  close(): Promise<void>;
}

const OUTCOMES = ['answered', 'refused', 'behind', 'failed'] as const;
type Outcome = (typeof OUTCOMES)[number];

export async function startReplicated(count: number): Promise<Replicated> {
  const place = openWorkplace();
  const replicas: Server[] = [];
  let gateway: TestGateway | undefined;
  const close = async () => {
    await gateway?.close();
    await place.close();
  };
  try {
    const primary = await startPrimary(place);
    const home = await createTestHome(primary.url);
    for (let n = 1; n <= count; n++) replicas.push(await startReplica(place, primary, `replica-${n}`));
    const urls = replicas.map(({ port }) => Object.assign(new URL(home.env.DATABASE_URL!), { port }).href);
    gateway = await startTestGateway({
      embedder: standIn,
      home,
      env: {
        DATABASE_REPLICA_URLS: urls.join(' '),
        REPLICA_MAX_LAG_MS: '600000',
      },
    });
    const replicated = { ...toolsOf(gateway, replicas, urls), close };
    for (const n of replicas.keys()) await replicated.used(true, n);
    return replicated;
  } catch (error) {
    await close();
    throw error;
  }
}

function toolsOf(gateway: TestGateway, replicas: Server[], urls: string[]): Omit<Replicated, 'close'> {
  const states = () => gateway.instance.database.replicas!.states();
  const reads = async (outcome: Outcome, replica?: number) => {
    const name = replica === undefined ? '[^"]*' : states()[replica]!.name;
    const sample = new RegExp(`l9_replica_reads_total\\{replica="${name}",outcome="${outcome}"[^}]*\\} (\\d+)`, 'g');
    return [...(await gateway.metrics()).matchAll(sample)].reduce((sum, [, value]) => sum + Number(value), 0);
  };
  return {
    gateway,
    replicas,
    urls,
    async used(isUsed, replica = 0) {
      await eventually(() => states()[replica]!.isUsed === isUsed);
    },
    async counted(work, replica) {
      const now = () => Promise.all(OUTCOMES.map((outcome) => reads(outcome, replica)));
      const before = await now();
      await work();
      const after = await now();
      return Object.fromEntries(OUTCOMES.map((outcome, n) => [outcome, after[n]! - before[n]!])) as Record<
        Outcome,
        number
      >;
    },
    async caughtUp() {
      const [row] = await gateway.asSuperuser('select pg_current_wal_insert_lsn()::text as lsn');
      const hasIt = async (replica: Server) =>
        (await replica.query(`select pg_last_wal_replay_lsn() >= '${row.lsn}' as is`)).rows[0].is;
      for (const replica of replicas) await eventually(() => hasIt(replica));
    },
  };
}
