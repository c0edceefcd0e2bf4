import { graphql, type ResultOf } from '../../lib/graphql.ts';

/** How many relations of one entity are drawn: the most confident ones. */
export const MAX_RELATIONS = 60;

/** An entity is found by any of its names; its relations keep the name that they were stated with. */
export const namesOfEntity = graphql(`
  query NamesOfEntity($entity: String!) {
    exploreGraph(entity: $entity, depth: 1, limit: 1) { entity knownAs }
  }
`);

export const relationsOfEntity = graphql(`
  query RelationsOfEntity($first: Int!, $filter: EntityRelationshipFilter) {
    entityRelationships(first: $first, filter: $filter, orderBy: [CONFIDENCE_DESC, PRIMARY_KEY_ASC]) {
      nodes {
        relationshipId sourceEntity sourceNormalized relationshipType targetEntity targetNormalized
        confidence agentCount isFromAdmin creator scope
      }
      pageInfo { hasNextPage }
    }
  }
`);

export const evidenceOfRelations = graphql(`
  query EvidenceOfRelations($ids: [UUID!]!) {
    entityRelationships(first: 20, filter: { relationshipId: { in: $ids } }) {
      nodes {
        relationshipId scope
        evidence(first: 20) {
          totalCount
          nodes { evidenceId agent confidence isFromAdmin extractedBy lastSeen memory { packetId title content } }
        }
      }
    }
  }
`);

export type Relation = NonNullable<
  NonNullable<ResultOf<typeof relationsOfEntity>['entityRelationships']>['nodes'][number]
>;
