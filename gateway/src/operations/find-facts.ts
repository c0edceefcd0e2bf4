import { z } from 'zod';
import { fact, factAsJson, factValue, formatFact, withJsonObject } from './assert-fact.ts';
import { aliases, aliasLine } from './explore-graph.ts';
import { counted, fraction, onlyProject, time, whole } from './fields.ts';
import { call, defineOperation } from './operation.ts';

export const findFacts = defineOperation({
  name: 'find_facts',
  title: 'Find facts',
  toolSet: 'knowledge',
  description: 'Find facts by subject, predicate or object, most confident first.',
  input: z.strictObject({
    subject: z.string().nullish(),
    predicate: z.string().nullish(),
    object: factValue.nullish(),
    min_confidence: fraction.default(0),
    include_history: z.boolean().default(false).describe('Also superseded and retracted facts.'),
    valid_at: time.nullish().describe('Facts that were true at this time.'),
    scope: z.string().nullish().describe('Only this scope.'),
    project_id: onlyProject.nullish(),
    k: whole(1, 100).default(20).describe('Maximum number of facts.'),
  }),
  output: z.object({ facts: z.array(fact), aliases }),
  isReadOnly: true,
  inferredProject: () => 'narrows',
  graphql: { unwrap: 'facts' },
  // One statement for both, in which the subject, if it is given, is the first value.
  run: (client, { subject, ...input }) =>
    call(
      client,
      `coalesce(jsonb_agg(${factAsJson}), '[]') as facts, ${
        typeof subject === 'string'
          ? "(select coalesce(jsonb_agg(to_jsonb(a)), '[]') from public.applied_aliases($1) a)"
          : "'[]'::jsonb"
      } as aliases`,
      'find_facts',
      { subject, ...withJsonObject(input) },
    ),
  recalls: ({ facts }) => facts.length > 0,
  summarize: ({ facts, aliases }, reader) =>
    facts.length === 0
      ? 'No such fact is known among those you may read.'
      : `${counted(facts.length, 'fact')}:\n${[...aliasLine(aliases), ...facts.map((one) => formatFact(one, reader))].join('\n')}`,
});
