import { graphql, type ResultOf } from '../../lib/graphql.ts';

export const PAGE_SIZE = 30;

export const queueQuery = graphql(`
  query ReviewQueue($k: Int!, $cursor: String, $creator: String, $scope: String, $projectId: String) {
    reviewQueue(k: $k, cursor: $cursor, creator: $creator, scope: $scope, projectId: $projectId) {
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

export type Item = NonNullable<ResultOf<typeof queueQuery>['reviewQueue']>['items'][number];
export type Duplicate = Item['duplicates'][number];

/** The whole text, for the person who corrects it: the queue cuts long texts. */
export const wholeQuery = graphql(`
  query ReviewedMemory($id: UUID!) { memoryByPacketId(packetId: $id) { content envelope } }
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
