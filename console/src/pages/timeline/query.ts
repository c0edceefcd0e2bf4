import { graphql, type ResultOf } from '../../lib/graphql.ts';

export const PAGE_SIZE = 50;

export const timelineQuery = graphql(`
  query Timeline($first: Int!, $after: Cursor, $filter: MemoryFilter) {
    memories(first: $first, after: $after, filter: $filter, orderBy: [TIMESTAMP_DESC, PRIMARY_KEY_DESC]) {
      nodes {
        packetId kind title content timestamp scope projectId speaker metadata
        event { eventType agentId }
        sessionArchiveByPacketId { archiveId title messageCount redacted sourceTool startedAt endedAt }
      }
      pageInfo { endCursor hasNextPage }
    }
  }
`);

export const daysQuery = graphql(`
  query TimelineDays($since: Datetime!, $until: Datetime!, $timeZone: String!, $projectId: String) {
    memoryDays(since: $since, until: $until, timeZone: $timeZone, projectId: $projectId) { day memories events sessions isPartial }
  }
`);

export type Moment = NonNullable<NonNullable<ResultOf<typeof timelineQuery>['memories']>['nodes'][number]>;
export type Day = NonNullable<NonNullable<ResultOf<typeof daysQuery>['memoryDays']>[number]>;

/** What is shown, and the kinds of memories that it stands for. */
export const SHOWN = {
  all: { title: 'All', filter: {} },
  memories: { title: 'Memories', filter: { not: { kind: { in: ['event', 'session'] } } } },
  events: { title: 'Events', filter: { kind: { equalTo: 'event' } } },
  sessions: { title: 'Sessions', filter: { kind: { equalTo: 'session' } } },
} as const;
export type Shown = keyof typeof SHOWN;
