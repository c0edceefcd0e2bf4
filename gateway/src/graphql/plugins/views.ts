// refreshMemoryViews calls a procedure. PostGraphile only supports functions, which it selects from.
import { type PgClient, sideEffectWithPgClientTransaction } from 'postgraphile/@dataplan/pg';
import { constant } from 'postgraphile/grafast';
import { parse } from 'postgraphile/graphql';
import { extendSchema } from 'postgraphile/utils';
import { ADMIN_MUTATION } from './admin.ts';

const typeDefs = `
  extend type ${ADMIN_MUTATION} {
    """
    Refreshes the materialized views behind agentRecentImportant, entityGraph, highConfidenceFacts, recurringLessons and
    reflectionPatterns, without keeping anyone from reading them; daily by the scheduler. True when it is done.
    """
    refreshMemoryViews: Boolean
  }
`;

export const viewsPlugin = extendSchema((build) => {
  const { executor } = build.pgResources.memory!;
  return {
    typeDefs: parse(typeDefs),
    objects: {
      [ADMIN_MUTATION]: {
        plans: {
          refreshMemoryViews: () =>
            sideEffectWithPgClientTransaction(executor, constant(null), async (client: PgClient) => {
              await client.query({ text: 'call public.refresh_memory_views()' });
              return true;
            }),
        },
      },
    },
  };
});
