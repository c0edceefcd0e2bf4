import type { Address } from '../../lib/address.ts';
import { graphql, type ResultOf, type VariablesOf } from '../../lib/graphql.ts';

const PAGE_SIZE = 30;
/** The largest page, of which those are shown that duplicate or contradict something. */
export const LOOKED_THROUGH = 100;
/** As many as the database decides about in one call. */
export const MAX_BATCH = 500;

export const queueQuery = graphql(`
  query ReviewQueue($k: Int!, $cursor: String, $creator: String, $scope: String, $projectId: String, $kinds: [String!]) {
    reviewQueue(k: $k, cursor: $cursor, creator: $creator, scope: $scope, projectId: $projectId, kinds: $kinds) {
      waiting nextCursor
      items {
        packetId title content isTruncated kind scope projectId branch tags fields
        creator source agent toolName speaker createdAt timestamp updatedAt
        duplicates { packetId content creator source similarity createdAt }
        contradictions { factId subject predicate presentObject newObject confidence creator sourcePacket isFromAdmin }
        rejectedBefore { packetId reviewReason reviewedAt reviewedBy }
      }
    }
  }
`);

export type QueuePage = NonNullable<ResultOf<typeof queueQuery>['reviewQueue']>;
export type Item = QueuePage['items'][number];
export type Duplicate = Item['duplicates'][number];

export const FINDINGS = {
  duplicate: { title: 'say what is there already', has: ({ duplicates }: Item) => duplicates.length > 0 },
  contradiction: { title: 'contradict what holds now', has: ({ contradictions }: Item) => contradictions.length > 0 },
  rejection: { title: 'were rejected before', has: ({ rejectedBefore }: Item) => rejectedBefore.length > 0 },
  nothing: {
    title: 'have none of these',
    has: (item: Item) => !item.duplicates.length && !item.contradictions.length && !item.rejectedBefore.length,
  },
} as const;

export type Finding = keyof typeof FINDINGS;

/** Names in the address. */
export const FILTERS = ['creator', 'scope', 'project', 'kind', 'finding'] as const;

/** The queue itself finds what each item duplicates and contradicts, so that this filter is applied to the page that was read. */
export const findingOf = (address: Address): Finding | null => {
  const finding = address.get('finding');
  return finding in FINDINGS ? (finding as Finding) : null;
};

export function variablesOf(address: Address): VariablesOf<typeof queueQuery> {
  const [creator, scope, project, kind, cursor] = ['creator', 'scope', 'project', 'kind', 'cursor'].map(
    (name) => address.get(name).trim() || null,
  );
  return {
    k: findingOf(address) ? LOOKED_THROUGH : PAGE_SIZE,
    cursor,
    creator,
    scope,
    projectId: project ?? '*',
    kinds: kind?.split(/[\s,]+/) ?? null,
  };
}

/** The whole text, for the person who corrects it: the queue cuts long texts. */
export const wholeQuery = graphql(`
  query ReviewedMemory($id: UUID!) { memoryByPacketId(packetId: $id) { content envelope } }
`);

/** What is decided about many at once names no version of each, so that they are compared just before. */
export const versionsQuery = graphql(`
  query ReviewedVersions($ids: [UUID!]!) {
    memories(first: 500, filter: { packetId: { in: $ids } }) { nodes { packetId updatedAt } }
  }
`);

export const approveMutation = graphql(`
  mutation ApproveMemory($input: ApproveMemoryInput!) { approveMemory(input: $input) { decided { packetId status mergedInto } } }
`);

export const rejectMutation = graphql(`
  mutation RejectMemory($input: RejectMemoryInput!) { rejectMemory(input: $input) { decided { packetId status } } }
`);

export const mergeMutation = graphql(`
  mutation MergeMemories($input: MergeMemoriesInput!) { mergeMemories(input: $input) { merged { packetId status } } }
`);

export const undoMutation = graphql(`
  mutation UndoReview($input: UndoReviewInput!) { undoReview(input: $input) { decided { packetId status } } }
`);
