import { z } from 'zod';
import { fraction, object, oneLine, time, uuid } from './fields.ts';
import { graphqlTypes } from './graphql-types.ts';
import { call, defineOperation } from './operation.ts';
import { recalled } from './recalled.ts';
import { type Reader, signed, writer } from './standing.ts';

export const factValue = z.union([z.string(), z.number(), z.boolean(), z.array(z.unknown()), object], {
  error: 'a text, number, true, false, list or object',
});

export const fact = z
  .object({
    fact_id: z.string().nullable().describe('Null: it waits for a review.'),
    subject: z.string(),
    predicate: z.string(),
    object: z.unknown(),
    confidence: z.number(),
    supporting_packet_count: z.int().describe('How many times it was asserted.'),
    contradiction_count: z.int().describe('How many times another value replaced it, or it replaced another.'),
    source_packet: z.string().describe('The memory that first asserted it.'),
    valid_from: z.string(),
    valid_to: z.string().nullable().describe('Null while it holds.'),
    recorded_at: z.string(),
    superseded_by: z.string().nullable().describe('The fact that superseded it.'),
    superseding_packet: z.string().nullable().describe('The memory that states that fact.'),
    retracted_at: z.string().nullable(),
    scope: z.string(),
    project_id: z.string().nullable(),
    ...writer,
  })
  .register(graphqlTypes, { row: { resource: 'fact', column: 'fact_id' } });

/** Selects a fact as JSON with the keys of `fact`. */
export const factAsJson = `jsonb_build_object(${Object.keys(fact.shape)
  .map(
    (name) =>
      `'${name}', ${name === 'superseding_packet' ? 'public.knowledge_facts_superseding_packet(r)' : `r.${name}`}`,
  )
  .join(', ')})`;

/** The object of a fact is JSON, so a text is quoted too. */
export const withJsonObject = <Input extends { object?: unknown }>({ object, ...rest }: Input) => ({
  ...rest,
  object: object === undefined || object === null ? null : JSON.stringify(object),
});

export const formatFact = (row: z.output<typeof fact>, reader: Reader) => {
  const { subject, predicate, object, confidence, valid_to, retracted_at, superseding_packet } = row;
  const value = typeof object === 'string' ? object : JSON.stringify(object);
  const stated = recalled(oneLine(`${subject} ${predicate}: ${value}`));
  const successor = superseding_packet ? `, superseded by ${superseding_packet}` : '';
  const end = retracted_at ? ', retracted' : valid_to ? `, until ${valid_to}${successor}` : '';
  return signed(`${stated} (${confidence.toFixed(2)}${end})`, [row], reader);
};

export const assertFact = defineOperation({
  name: 'assert_fact',
  title: 'Assert a fact',
  toolSet: 'knowledge',
  description:
    'State that something is true: subject, predicate, object. Asserting the same fact again increases its confidence. ' +
    'For single-valued predicates a new object supersedes the old one, which is kept as history.',
  input: z.strictObject({
    subject: z.string().describe('What the fact is about, such as billing-api.'),
    predicate: z.string().describe('The property or relation, such as deploys on. Reuse existing predicates.'),
    object: factValue.describe('The value: a text, number, list or object.'),
    confidence: fraction.default(0.8).describe('How sure you are, 0 to 1.'),
    source_packet: uuid.nullish().describe('The memory that says so. Default: one is saved.'),
    valid_from: time.nullish().describe('Since when it is true. Default: now.'),
    valid_to: time.nullish().describe('Until when it is true. Default: no end is known.'),
    scope: z
      .string()
      .nullish()
      .describe('Without source_packet: developer (default), global or another scope of yours.'),
    project_id: z.string().nullish().describe('Without source_packet: the project; required in scope developer.'),
    into_world: z
      .boolean()
      .default(false)
      .describe('Also make it an attribute of the subject in the world model (single-valued predicates).'),
  }),
  output: z.object({ fact }),
  inferredProject: ({ source_packet }) => (source_packet ? null : 'owns'),
  run: (client, input) => call(client, `${factAsJson} as fact`, 'assert_fact', withJsonObject(input)),
  summarize: ({ fact }, reader) =>
    `${fact.fact_id === null ? 'Waits for a review' : 'Noted'}: ${formatFact(fact, reader)}.`,
});
