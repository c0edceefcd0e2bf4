// gateway/schema.graphql: the GraphQL schema as the roles of the gateway see it, sorted.
import { type GraphQLSchema, lexicographicSortSchema, printSchema } from 'postgraphile/graphql';

export const printGraphqlSchema = (schema: GraphQLSchema) => `${printSchema(lexicographicSortSchema(schema))}\n`;
