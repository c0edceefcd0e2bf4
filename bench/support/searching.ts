// The search of all benches: over HTTP as an application does it, and as the SQL that the gateway sends.
import type pg from 'pg';
import { toSettings } from '../../gateway/src/auth/identity.ts';
import { inTransaction } from '../../gateway/src/database/index.ts';
import { searchMemory } from '../../gateway/src/operations/search-memory.ts';
import type { Query } from './bench.ts';
import { DIMENSIONS, MODEL } from './data.ts';
import type { Gateway } from './gateway.ts';
import { agentOf } from './tenants.ts';

// The words of the benches are made up, so that no text is relevant to another in meaning.
export const searchText = `query ($query: String!) {
  searchMemory(query: $query, minRelevance: 0) { hits { packetId content snippet score kind scope projectId tags timestamp } searched { mode } }
}`;

export interface Found {
  ids: string[];
  mode: string;
}

export const graphqlSearch = async (gateway: Gateway, token: string, query: string): Promise<Found> => {
  const { hits, searched } = (await gateway.client.graphql(token, searchText, { query })).searchMemory;
  return { ids: hits.map((hit: { packetId: string }) => hit.packetId), mode: searched.mode };
};

/** Runs the SQL of the gateway in the same transaction with pg alone. */
export function sqlSearch(pool: pg.Pool, tenantId: string) {
  const settings = { ...toSettings(agentOf(tenantId), 'searchMemory'), synchronous_commit: 'off' };
  return async (query: Query, more: object = {}): Promise<Found> => {
    const prepared = { vector: vectorOf(query), model: MODEL };
    const { hits, searched } = await inTransaction(pool, settings, (client) =>
      searchMemory.run(
        client,
        searchMemory.input.parse({ query: query.query, min_relevance: 0, ...more }),
        prepared,
        [],
      ),
    );
    return { ids: hits.map(({ packet_id }) => packet_id), mode: searched.mode };
  };
}

const vectors = new Map<string, number[]>();

function vectorOf({ query, vector }: Query): number[] {
  let known = vectors.get(query);
  if (!known) {
    known = (JSON.parse(vector) as number[]).slice(0, DIMENSIONS);
    vectors.set(query, known);
  }
  return known;
}

/** Warms up the cache of query vectors and the pages of the database. */
export async function warmUp(gateway: Gateway, token: string, queries: readonly Query[], seconds: number) {
  for (const { query } of queries.slice(0, Math.ceil(seconds * 50))) await graphqlSearch(gateway, token, query);
}
