import { graphql, type ResultOf } from '../../lib/graphql.ts';

export const sessionQuery = graphql(`
  query Session($archiveId: UUID!) {
    sessionArchiveByArchiveId(archiveId: $archiveId) {
      archiveId pointer title summary startedAt endedAt happenedAt messageCount messagesGiven redacted size sourceTool tags
      connectors keyId creator scope projectId sessionId storedAt verifiedAt verifiedBy packetId
    }
  }
`);

/** Fetches the bytes, checks their hash and tag, decrypts them, and is audited. */
export const openedSession = graphql(`
  query OpenedSession($pointer: String!) {
    retrieveSessionFromCascade(pointer: $pointer) { sessionData verified }
  }
`);

export type Archive = NonNullable<ResultOf<typeof sessionQuery>['sessionArchiveByArchiveId']>;
