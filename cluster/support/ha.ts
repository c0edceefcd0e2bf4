// The cluster of docker/ha on this machine: three etcd, three nodes of Patroni, and HAProxy.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../../db/tests/support/eventually.ts';
import { composeHere } from './compose.ts';
import { listening, openWorkplace } from './programs.ts';

const NODES = ['node1', 'node2', 'node3'];
const ETCDS = ['etcd1', 'etcd2', 'etcd3'];
const PASSWORD = 'for-tests-only';

interface Member {
  name: string;
  role: string;
  state: string;
}

/** Starts it and waits for a primary with two replicas, one of which is synchronous. */
export async function startCluster(root: string) {
  const place = openWorkplace(root);
  const names = [
    'POSTGRES_PASSWORD',
    'REPLICATION_PASSWORD',
    'PATRONI_PASSWORD',
    'L9_GATEWAY_PASSWORD',
    'L9_OWNER_PASSWORD',
  ];
  const compose = await composeHere(place, Object.fromEntries(names.map((name) => [name, PASSWORD])));
  const processes = new Map<string, Awaited<ReturnType<typeof compose.start>>>();
  const start = async (service: string) => processes.set(service, await compose.start(service));

  /** The members that one node which answers knows of. */
  async function members(): Promise<Member[]> {
    for (const node of NODES) {
      const url = `http://127.0.0.1:${await compose.portOf(node, 8008)}/cluster`;
      const answer = await fetch(url, { signal: AbortSignal.timeout(5_000) }).catch(() => null);
      if (answer?.ok) return ((await answer.json()) as { members: Member[] }).members;
    }
    return [];
  }
  const postmasterOf = (node: string) =>
    Number(readFileSync(join(compose.folderOf(node), '18', 'data', 'postmaster.pid'), 'utf8').split('\n', 1)[0]);
  const killServer = (node: string) => process.kill(postmasterOf(node), 'SIGKILL');

  const cluster = {
    members,
    primary: async () =>
      (await members()).find(({ role, state }) => role === 'leader' && state === 'running')?.name ?? null,
    /** Waits until so many replicas stream from the primary, one of them synchronously. */
    replicated: (replicas: number) =>
      eventually(async () => {
        const found = await members();
        const streaming = found.filter(({ state }) => state === 'streaming');
        return (
          found.some(({ role }) => role === 'leader') &&
          streaming.length === replicas &&
          streaming.some(({ role }) => /sync/.test(role))
        );
      }),
    /** Kills PostgreSQL on this node; its Patroni stays. */
    killServer,
    /** Kills all that runs on this node, as when the machine loses its power. */
    killNode(node: string) {
      processes.get(node)!.kill('SIGKILL');
      killServer(node);
    },
    startNode: start,
    superuserUrl: async (database = 'postgres') =>
      `postgres://postgres:${PASSWORD}@127.0.0.1:${await compose.portOf('haproxy', 5000)}/${database}`,
    setupEnv: async () => ({
      ROOT_DATABASE_URL: await compose.variable('setup', 'ROOT_DATABASE_URL'),
      L9_GATEWAY_PASSWORD: PASSWORD,
      L9_OWNER_PASSWORD: PASSWORD,
    }),
    gatewayUrl: () => compose.variable('gateway', 'DATABASE_URL'),
    portOfNode: (node: string) => compose.portOf(node, 5432),
    postmasterOf,
    folder: place.folder,
    async close() {
      for (const node of NODES) processes.get(node)?.kill('SIGKILL');
      for (const node of NODES) {
        try {
          killServer(node);
        } catch {
          // It has ended, or never began.
        }
      }
      await place.close();
    },
  };
  try {
    for (const service of [...ETCDS, ...NODES, 'haproxy']) await start(service);
    await listening(await compose.portOf('haproxy', 5000), processes.get('haproxy')!);
    await cluster.replicated(2);
  } catch (error) {
    await cluster.close();
    throw error;
  }
  return cluster;
}

export type Cluster = Awaited<ReturnType<typeof startCluster>>;
