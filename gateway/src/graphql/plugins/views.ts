// refreshMemoryViews calls a procedure. PostGraphile only supports functions, which it selects from.
import { type PgClient, sideEffectWithPgClientTransaction } from 'postgraphile/@dataplan/pg';
import { access, constant, object, type Step } from 'postgraphile/grafast';
import { parse } from 'postgraphile/graphql';
import { extendSchema } from 'postgraphile/utils';

const typeDefs = `
  input RefreshMemoryViewsInput { clientMutationId: String }
  type RefreshMemoryViewsPayload {
    clientMutationId: String
    "What they show now, and how old they are."
    query: Query
  }
  extend type Mutation {
    """
    Refreshes the materialized views behind agentRecentImportant, entityGraph, highConfidenceFacts, recurringLessons and
    reflectionPatterns,
    without keeping anyone from reading them. For admins; daily by the scheduler.
    """
    refreshMemoryViews(input: RefreshMemoryViewsInput!): RefreshMemoryViewsPayload
  }
`;

export const viewsPlugin = extendSchema((build) => {
  const { executor } = build.pgResources.memory!;
  return {
    typeDefs: parse(typeDefs),
    objects: {
      Mutation: {
        plans: {
          refreshMemoryViews: (_root: Step, fieldArgs: { getRaw(path: string[]): Step }) => {
            const $refreshed = sideEffectWithPgClientTransaction(executor, constant(null), async (client: PgClient) => {
              await client.query({ text: 'call public.refresh_memory_views()' });
              return true;
            });
            return object({ refreshed: $refreshed, clientMutationId: fieldArgs.getRaw(['input', 'clientMutationId']) });
          },
        },
      },
      RefreshMemoryViewsPayload: {
        plans: {
          clientMutationId: ($payload: Step) => access($payload, 'clientMutationId'),
          query: () => constant(true),
        },
      },
    },
  } as never;
});
