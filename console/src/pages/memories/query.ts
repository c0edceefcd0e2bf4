import { graphql } from '../../lib/graphql.ts';

export const PAGE_SIZE = 50;

export const memoriesQuery = graphql(`
  query Memories($first: Int!, $after: Cursor, $filter: MemoryFilter) {
    memories(first: $first, after: $after, filter: $filter, orderBy: [CREATED_AT_DESC, PRIMARY_KEY_DESC]) {
      nodes { packetId title content kind scope projectId branch tags createdAt timestamp textCreator }
      pageInfo { endCursor hasNextPage }
    }
  }
`);
