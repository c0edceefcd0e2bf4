// memory_store over both APIs, for tests.
import type { Fields } from '../../../db/tests/support/kinds.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

const MUTATION = `mutation ($items: [MemoryStoreItem!]!, $whole: Boolean) {
  memoryStore(input: { items: $items, allOrNothing: $whole }) {
    stored { index status packetId kind memory { title content } }
    errors { index code sqlstate field message }
  }
}`;

/** A gateway for the tests of a describe block, and memory_store over MCP (`store`) and GraphQL. */
export function useMemoryStore() {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
  });
  afterAll(() => gateway.close());
  return {
    get gateway() {
      return gateway;
    },
    mutation: MUTATION,
    store: (items: unknown[], more: Fields = {}, caller = 'C') =>
      gateway.call(caller, 'memory_store', { items, ...more }),
    storeByGraphql: async (items: unknown[], caller = 'C') =>
      (await gateway.query(caller, MUTATION, { items })).memoryStore,
    /** How many memories a project has. */
    count: async (project: string) =>
      (
        await gateway.sql('L', 'select count(*)::integer as n from public.packet_store where project_id = $1', [
          project,
        ])
      )[0].n,
  };
}
