// `graphql` types queries by gateway/schema.graphql. Its types are written to graphql-env.d.ts by `npm run build` and `npm run typecheck`.
import { initGraphQLTada } from 'gql.tada';
import type { introspection } from '../graphql-env.d.ts';

export const graphql = initGraphQLTada<{
  introspection: introspection;
  disableMasking: true;
  scalars: {
    UUID: string;
    Datetime: string;
    Date: string;
    Duration: string;
    Cursor: string;
    BigInt: string;
    BigFloat: string;
    // biome-ignore lint/suspicious/noExplicitAny: rows hold whatever was saved
    JSON: any;
    Base64EncodedBinary: string;
  };
}>();

export type { ResultOf, VariablesOf } from 'gql.tada';
