import { graphql, type ResultOf } from '../../lib/graphql.ts';

export const PAGE_SIZE = 50;
/** At most what one call returns. */
export const MAX_FACTS = 100;

export const recentFacts = graphql(`
  query RecentFacts($first: Int!, $after: Cursor, $filter: FactFilter) {
    facts(first: $first, after: $after, filter: $filter, orderBy: [RECORDED_AT_DESC, PRIMARY_KEY_DESC]) {
      nodes {
        factId subject predicate object confidence creator scope recordedAt validFrom validTo retractedAt
        contradictionCount supersededBy { factId object }
      }
      pageInfo { endCursor hasNextPage }
    }
  }
`);

export const subjectHistory = graphql(`
  query SubjectHistory($subject: String!) {
    findFacts(subject: $subject, includeHistory: true, k: 100) {
      factId subject predicate object validFrom validTo recordedAt retractedAt retractionReason supersededById
      isFromAdmin confidence agentCount contradictionCount creator scope projectId
    }
  }
`);

export const subjectAsOf = graphql(`
  query SubjectAsOf($subject: String!, $validAt: Datetime, $knownAt: Datetime) {
    factsAsOf(subject: $subject, validAt: $validAt, knownAt: $knownAt, k: 100) {
      validFrom validTo
      fact { factId predicate object confidence creator isFromAdmin contradictionCount scope }
      replaced { factId object }
    }
  }
`);

export const factQuery = graphql(`
  query FactWithEvidence($factId: UUID!) {
    factByFactId(factId: $factId) {
      factId subject predicate object confidence agentCount supportingPacketCount contradictionCount isFromAdmin isSingleValued
      validFrom validTo recordedAt retractedAt retractionReason creator scope projectId supersededById
      supersededBy { factId object }
      replaced(first: 20) { nodes { factId object } }
      evidence(first: 50) {
        totalCount
        nodes {
          evidenceId agent confidence isFromAdmin extractedBy createdAt validFrom validTo packetId
          memory { packetId title content kind }
        }
      }
    }
  }
`);

export const retractFact = graphql(`
  mutation RetractFact($factId: UUID!, $reason: String!) {
    retractFact(input: { factId: $factId, reason: $reason }) { fact { factId retractedAt } }
  }
`);

export type Recent = NonNullable<NonNullable<ResultOf<typeof recentFacts>['facts']>['nodes'][number]>;
export type Statement = NonNullable<NonNullable<ResultOf<typeof subjectHistory>['findFacts']>[number]>;
export type Held = NonNullable<NonNullable<ResultOf<typeof subjectAsOf>['factsAsOf']>[number]>;
export type Detail = NonNullable<ResultOf<typeof factQuery>['factByFactId']>;
