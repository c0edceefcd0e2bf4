import { graphql, type ResultOf } from '../../lib/graphql.ts';

export const memoryQuery = graphql(`
  query Memory($id: UUID!) {
    memoryByPacketId(packetId: $id) {
      packetId title content kind scope projectId branch tags speaker language threadId sessionId timestamp createdAt updatedAt ttl
      estimatedImportance importanceScore accessCount lastAccessed contradictionCount textCreator supersededBy archivedAt partOf
      parentIds metadata envelope provenance routing orgId userId reviewState reviewReason reviewedBy reviewedAt
      facts(first: 50) {
        nodes { factId subject predicate object confidence validFrom validTo supersededAt retractedAt supersedingPacket creator }
      }
      relationships(first: 50) { nodes { relationshipId sourceEntity relationshipType targetEntity confidence creator lastSeen } }
    }
  }
`);

export type Memory = NonNullable<ResultOf<typeof memoryQuery>['memoryByPacketId']>;

export const historyQuery = graphql(`
  query History($id: UUID!) {
    memoryHistory(packetId: $id, maxVersions: 100) {
      version versionId changedAt until changedFields content creator source toolName state
    }
  }
`);

export type Version = NonNullable<NonNullable<ResultOf<typeof historyQuery>['memoryHistory']>[number]>;

export const similarQuery = graphql(`
  query Similar($id: UUID!) {
    searchMemory(packetId: $id, k: 20, mode: semantic) {
      hits { packetId snippet score semanticScore kind scope creator createdAt supersededBy }
    }
  }
`);

export const callersQuery = graphql(`
  query Callers { admin { actors(first: 200) { caller role isActive } } }
`);

export const accessQuery = graphql(`
  query Access($id: UUID!, $caller: String!, $projects: [String], $scopes: [String]) {
    admin {
      explainAccess(packetId: $id, caller: $caller, projects: $projects, scopes: $scopes) {
        caller role isVisible decidedBy policies { policy isPermissive admits expression description }
      }
    }
  }
`);

export const auditQuery = graphql(`
  query MemoryAudit($id: UUID!, $first: Int!, $after: Cursor) {
    admin {
      auditLogs(filter: { rowId: { equalTo: $id } }, first: $first, after: $after, orderBy: [OCCURRED_AT_DESC, PRIMARY_KEY_DESC]) {
        nodes { auditId occurredAt operation caller source toolName status sqlstate details }
        pageInfo { endCursor hasNextPage }
      }
    }
  }
`);

export type AuditRow = NonNullable<
  NonNullable<NonNullable<NonNullable<ResultOf<typeof auditQuery>['admin']>['auditLogs']>['nodes']>[number]
>;
