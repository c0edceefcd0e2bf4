import type { Address } from '../../lib/address.ts';
import { graphql, type ResultOf, type VariablesOf } from '../../lib/graphql.ts';

export const PAGE_SIZE = 50;
/** Beyond this the page says '20+ new'. */
export const MOST_NEW = 20;

export const memoriesQuery = graphql(`
  query Memories($first: Int!, $after: Cursor, $filter: MemoryFilter, $includeArchived: Boolean) {
    memories(
      first: $first, after: $after, filter: $filter, includeArchived: $includeArchived
      orderBy: [CREATED_AT_DESC, PRIMARY_KEY_DESC]
    ) {
      nodes {
        packetId title content kind scope projectId branch tags speaker createdAt timestamp updatedAt textCreator
        estimatedImportance importanceScore metadata envelope supersededBy archivedAt
        reviewState reviewReason reviewedBy reviewedAt
      }
      pageInfo { endCursor hasNextPage }
    }
  }
`);

export const newMemoriesQuery = graphql(`
  query NewMemories($first: Int!, $filter: MemoryFilter) {
    memories(first: $first, filter: $filter, orderBy: [CREATED_AT_DESC, PRIMARY_KEY_DESC]) { nodes { packetId } }
  }
`);

export type Row = NonNullable<NonNullable<ResultOf<typeof memoriesQuery>['memories']>['nodes'][number]>;
type Filter = NonNullable<VariablesOf<typeof memoriesQuery>['filter']>;

const exactly = (value: string) => ({ equalTo: value });

/** The filters in the address, as the API takes them. It refuses an empty filter, and null. */
export function filterOf(address: Address): Filter | undefined {
  const [kind, scope, project, thread, review] = ['kind', 'scope', 'project', 'thread', 'review'].map(address.get);
  const [since, until] = [address.get('since'), address.get('until')];
  const filter: Filter = {
    ...(kind ? { kind: exactly(kind) } : {}),
    ...(scope ? { scope: exactly(scope) } : {}),
    ...(project ? { projectId: exactly(project) } : {}),
    ...(thread ? { threadId: exactly(thread) } : {}),
    ...(review ? { reviewState: exactly(review) } : {}),
    ...(since || until
      ? { timestamp: { ...(since ? { greaterThanOrEqualTo: since } : {}), ...(until ? { lessThan: until } : {}) } }
      : {}),
  };
  return Object.keys(filter).length > 0 ? filter : undefined;
}
