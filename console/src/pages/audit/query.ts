import { graphql, type ResultOf, type VariablesOf } from '../../lib/graphql.ts';

export const PAGE_SIZE = 50;

export const auditQuery = graphql(`
  query AuditRows($first: Int!, $after: Cursor, $filter: AuditLogFilter) {
    admin {
      auditLogs(first: $first, after: $after, filter: $filter, orderBy: [OCCURRED_AT_DESC, AUDIT_ID_DESC]) {
        nodes {
          auditId occurredAt operation caller creator source toolName tableName rowId projectId scope status sqlstate
          sessionId traceId correlationId queryText details
        }
        pageInfo { endCursor hasNextPage }
      }
    }
  }
`);

/** What changed since: one request, and so one audit row, for both. */
export const auditNow = graphql(`
  query AuditNow($first: Int!, $filter: AuditLogFilter) {
    admin {
      auditHead { hash sealedAt sealId }
      auditLogs(first: $first, filter: $filter) { nodes { auditId } }
    }
  }
`);

export const verifyAudit = graphql(`
  query VerifyAudit($head: String, $afterSeal: BigInt, $maxRows: BigInt!) {
    admin {
      auditHead { sealId }
      verifyAudit(head: $head, afterSeal: $afterSeal, maxRows: $maxRows) {
        ok seals rows unsealed brokenSeal brokenRow reason head lastSeal isComplete
      }
    }
  }
`);

export const exportAudit = graphql(`
  mutation ExportAudit($from: Datetime, $to: Datetime, $after: String, $pageSize: Int!) {
    admin { exportAudit(from: $from, to: $to, after: $after, pageSize: $pageSize) { rows cursor to } }
  }
`);

export type AuditRow = NonNullable<
  NonNullable<NonNullable<NonNullable<ResultOf<typeof auditQuery>['admin']>['auditLogs']>['nodes'][number]>
>;
export type AuditFilter = NonNullable<VariablesOf<typeof auditQuery>['filter']>;
