// What several pages do with memories: save, change, delete, and the kinds and scopes that there are.
import { graphql, type ResultOf } from '../lib/graphql.ts';

export const kindsQuery = graphql(`
  query Kinds {
    memoryKinds(first: 100) {
      nodes {
        kind purpose titleField
        fields(first: 100) { nodes { field type isRequired maxLength meaning choices place sha256Of } }
      }
    }
  }
`);

export type Kind = NonNullable<NonNullable<ResultOf<typeof kindsQuery>['memoryKinds']>['nodes'][number]>;
export type KindField = NonNullable<Kind['fields']['nodes'][number]>;

export const scopesQuery = graphql(`
  query Scopes { scopes(first: 100) { nodes { scope description isProjectScoped isActive } } }
`);

export const saveMutation = graphql(`
  mutation SaveMemory($input: SaveMemoryInput!) {
    saveMemory(input: $input) { status memory { packetId } similar { packetId similarity } }
  }
`);

export const storeMutation = graphql(`
  mutation StoreMemory($items: [MemoryStoreItem!]!) {
    memoryStore(input: { items: $items }) { stored { status memory { packetId } } errors { message field } }
  }
`);

export const updateMutation = graphql(`
  mutation UpdateMemory($input: UpdateMemoryInput!) { updateMemory(input: $input) { status memory { packetId updatedAt } } }
`);

export const deleteMutation = graphql(`
  mutation DeleteMemory($input: DeleteMemoryInput!) { deleteMemory(input: $input) { status packetId } }
`);

/** Kinds without fields, which agents and people use most. Any other name is a kind, too. */
export const FREE_KINDS = ['note', 'fact', 'rule', 'lesson', 'bug', 'preference', 'log'];
