import { graphql, type ResultOf } from '../../lib/graphql.ts';

export const healthQuery = graphql(`
  query Health {
    admin {
      health {
        checkedAt isWholeServer servingModel arrivingModel arrivingMemories arrivingRemaining
        embeddingWaiting embeddingFailing embeddingError embeddingOldestSeconds
        extractionWaiting extractionGivenUp extractionOldestSeconds
        lastSealedAt viewsRefreshedAt unsealedRows unsealedOldestSeconds accessesWaiting accessesOldestSeconds
        databaseBytes cacheHitRate
        tables { tableName liveRows deadRows tableBytes indexBytes sequentialScans indexScans lastVacuumAt lastAnalyzeAt }
        indexes { indexName tableName bytes scans lastScanAt isUnique isValid }
        jobs { type runs failed runningSince lastStartedAt lastCompletedAt lastSeconds lastFailedAt lastError }
        gateway {
          version engine startedAt warnings isEmbedderReady residentBytes diskFreeBytes diskState
          pools { pool inUse idle waiting }
          queuedJobs { name waiting running failed error }
          longestTransactionSeconds
          replicas { name lagSeconds lagBytes }
          slowQueryMs
          slowCalls { at operation sqlMs route }
          operations { operation calls refused failed meanMs slowestMs }
          limits { limit refused }
          minutes {
            at calls refused failed limited slow meanMs slowestMs embeddingWaiting connectionsWaiting residentBytes
          }
        }
      }
    }
  }
`);

export type Health = NonNullable<NonNullable<ResultOf<typeof healthQuery>['admin']>['health']>;
export type Gateway = NonNullable<Health['gateway']>;
