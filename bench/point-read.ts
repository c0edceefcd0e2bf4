// One memory by its id, through GraphQL with claims, against express and pg with the same transactions.
import { join } from 'node:path';
import { type Bench, ratio } from './support/bench.ts';
import { startServerProcess } from './support/child.ts';
import { environmentOf, tokenOf } from './support/gateway.ts';
import { httpClient } from './support/http.ts';
import { closedLoop, inTurn, mustSucceed, perSecond, quantile, ratioOf, warmUpInTurn } from './support/load.ts';

const CONNECTIONS = 20;
const ROUNDS = 6;

const FIELDS = 'packetId content kind scope projectId tags timestamp';
const ROW = `query ($id: UUID!) { memoryByPacketId(packetId: $id) { ${FIELDS} } }`;
const OPERATION = `query ($id: UUID!) { getMemory(packetId: $id) { ${FIELDS} } }`;

export const pointRead: Bench = {
  name: 'point-read',
  about: 'one memory through GraphQL, against express and pg',
  async run(context) {
    const { id: tenant } = context.tenant('two percent');
    const { rows } = await context.database.superuser.query(
      "select packet_id from public.packet_store where tenant_id = $1 and scope = 'developer' order by content_hash limit 1000",
      [tenant],
    );
    const ids = rows.map(({ packet_id }) => packet_id as string);
    const token = await tokenOf(context.database, tenant);
    const gateway = await context.gateway();
    const peer = await startServerProcess(
      join(import.meta.dirname, 'peers', 'express.ts'),
      environmentOf(context.database),
    );
    const client = httpClient(peer.url);
    try {
      const ours = async (id: string) => (await gateway.client.graphql(token, ROW, { id })).memoryByPacketId;
      const operation = async (id: string) => (await gateway.client.graphql(token, OPERATION, { id })).getMemory;
      const theirs = async (id: string) => (await client.get(token, `/memories/${id}`)).memory;
      const unrecorded = async (id: string) => (await client.get(token, `/unrecorded/${id}`)).memory;
      const [mine, got, other] = [await ours(ids[0]!), await operation(ids[0]!), await theirs(ids[0]!)];
      if (!mine.content || mine.content !== other.content || mine.packetId !== other.packet_id)
        throw new Error('the two answers differ');
      if (JSON.stringify(got) !== JSON.stringify(mine)) throw new Error('the two fields differ');

      const rate = (work: (id: string) => Promise<{ content: string } | null>) => async (round: number) => {
        const load = { clients: CONNECTIONS, seconds: context.seconds / 6 };
        const sample = await closedLoop(load, async (n) => {
          const memory = await work(ids[(round * 131 + n) % ids.length]!);
          if (!memory?.content) throw new Error('no memory was returned');
        });
        mustSucceed(sample, 'point reads');
        return [perSecond(sample)];
      };
      const sides = {
        ours: rate(ours),
        operation: rate(operation),
        theirs: rate(theirs),
        unrecorded: rate(unrecorded),
      };
      await warmUpInTurn(context.seconds, sides);
      const rates = await inTurn(ROUNDS, sides);
      const row = (field: string, of: 'ours' | 'operation', against: 'theirs' | 'unrecorded') => ({
        what: `point read through GraphQL, ${field}, ${CONNECTIONS} connections, throughput`,
        ours: quantile(rates[of].flat(), 0.5),
        theirs: quantile(rates[against].flat(), 0.5),
        figure: ratioOf(rates[of], rates[against], 0.5),
        unit: '/s',
      });
      const same = { against: 'express + pg, the same transaction: claims, read, audit row', goal: { atLeast: 0.75 } };
      return [
        ratio({ ...row('memoryByPacketId', 'ours', 'theirs'), ...same }),
        ratio({ ...row('getMemory', 'operation', 'theirs'), ...same }),
        ratio({
          ...row('memoryByPacketId', 'ours', 'unrecorded'),
          against: 'express + pg, claims and read only, no audit row',
        }),
      ];
    } finally {
      client.close();
      await peer.close();
    }
  },
};
