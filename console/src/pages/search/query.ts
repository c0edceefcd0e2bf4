import type { Address } from '../../lib/address.ts';
import { graphql, type ResultOf, type VariablesOf } from '../../lib/graphql.ts';

export const searchQuery = graphql(`
  query Search(
    $query: String, $k: Int!, $mode: SearchMode, $scopes: [String!], $projectId: String, $kinds: [String!], $tags: [String!]
    $speaker: String, $since: Datetime, $until: Datetime, $asOf: Datetime, $includeArchived: Boolean, $includePending: Boolean, $minRelevance: Float
  ) {
    searchMemory(
      query: $query, k: $k, mode: $mode, scopes: $scopes, projectId: $projectId, kinds: $kinds, tags: $tags, speaker: $speaker
      since: $since, until: $until, asOf: $asOf, includeArchived: $includeArchived, includePending: $includePending
      minRelevance: $minRelevance, explain: true
    ) {
      hits {
        packetId accessId snippet content isTruncated score relevance lexicalScore semanticScore importance explanation kind scope projectId
        tags speaker creator source textCreator timestamp supersededBy isPartlySuperseded isOwn
        memory { packetId title content kind scope projectId tags envelope metadata textCreator estimatedImportance updatedAt
          reviewState reviewReason reviewedBy reviewedAt }
      }
      nearest { packetId snippet relevance }
      searched { mode requestedMode scopes projects candidates leftOut minRelevance notice asOf vectors entities }
    }
  }
`);

export const feedbackMutation = graphql(`
  mutation Feedback($input: RecordFeedbackInput!) { recordFeedback(input: $input) { feedback { packetId } } }
`);

export type Result = NonNullable<ResultOf<typeof searchQuery>['searchMemory']>;
export type Hit = Result['hits'][number];
export type Searched = Result['searched'];

/** How many hits at first, and how many more at each request. */
export const STEP = 10;
export const MOST = 100;

/** Names in the address, besides q, the words. */
export const FILTERS = [
  'scope',
  'project',
  'kind',
  'tags',
  'speaker',
  'since',
  'until',
  'asof',
  'mode',
  'archived',
  'pending',
  'all',
] as const;

/** Null where there is nothing to search by. */
export function variablesOf(address: Address): VariablesOf<typeof searchQuery> | null {
  const get = (name: (typeof FILTERS)[number] | 'q') => address.get(name).trim() || undefined;
  const list = (text: string | undefined) => text?.split(/[\s,]+/).filter(Boolean);
  const query = get('q');
  const narrows = {
    kinds: list(get('kind')),
    tags: list(get('tags')),
    speaker: get('speaker'),
    since: get('since'),
    until: get('until'),
  };
  if (!query && Object.values(narrows).every((value) => value === undefined)) return null;
  const scope = get('scope');
  return {
    query,
    k: Math.min(Number(address.get('k')) || STEP, MOST),
    mode: get('mode') as VariablesOf<typeof searchQuery>['mode'],
    scopes: scope ? [scope] : undefined,
    projectId: get('project'),
    ...narrows,
    asOf: get('asof'),
    includeArchived: get('archived') ? true : undefined,
    includePending: get('pending') ? true : undefined,
    minRelevance: get('all') ? 0 : undefined,
  };
}
