// What agents hold to be true. In GraphQL these come from the database as they are.
import { z } from 'zod';
import { fraction, object, time, uuid, whole } from './fields.ts';
import { call, define, type Operation } from './operation.ts';

const value = z.union([z.string(), z.number(), z.boolean(), z.array(z.unknown()), object], {
  error: 'a text, number, true, false, list or object',
});

const fact = z.object({
  fact_id: z.string(),
  subject: z.string(),
  predicate: z.string(),
  object: z.unknown(),
  confidence: z.number(),
  supporting_packet_count: z.int().describe('How often it was said.'),
  contradiction_count: z.int().describe('How often another value took its place, or it another’s.'),
  source_packet: z.string().describe('The memory that first said it.'),
  valid_from: z.string(),
  valid_to: z.string().nullable().describe('Null: it holds.'),
  recorded_at: z.string(),
  superseded_by: z.string().nullable(),
  retracted_at: z.string().nullable(),
  scope: z.string(),
  project_id: z.string().nullable(),
  creator: z.string(),
});

type Fact = z.output<typeof fact>;

const assertInput = z.strictObject({
  subject: z.string().describe('What it is about, such as billing-api.'),
  predicate: z.string().describe('What it says of it, such as deploys on. Keep to words already in use.'),
  object: value.describe('The value: a text, number, list or object.'),
  confidence: fraction.default(0.8).describe('How sure you are, from 0 to 1.'),
  source_packet: uuid.nullish().describe('The memory that says so. Left out: one is saved.'),
  valid_from: time.nullish().describe('Since when it is so. Left out: now.'),
  scope: z
    .string()
    .nullish()
    .describe('Without source_packet: developer (default), global, or another scope of yours.'),
  project_id: z.string().nullish().describe('Without source_packet: the project; required in scope developer.'),
});

const findInput = z.strictObject({
  subject: z.string().nullish(),
  predicate: z.string().nullish(),
  object: value.nullish(),
  min_confidence: fraction.default(0),
  include_history: z.boolean().default(false).describe('Also what was superseded or retracted.'),
  valid_at: time.nullish().describe('What was so at this time.'),
  scope: z.string().nullish().describe('Only this scope.'),
  project_id: z.string().nullish().describe('Only this project, and what belongs to none.'),
  k: whole(1, 100).default(20).describe('How many at most.'),
});

const columns = Object.keys(fact.shape)
  .map((name) => `'${name}', r.${name}`)
  .join(', ');
const asJson = `jsonb_build_object(${columns})`;

/** The object goes in as JSON, also where it is a text. */
const withJson = <Input extends { object?: unknown }>({ object, ...rest }: Input) => ({
  ...rest,
  object: object === undefined || object === null ? null : JSON.stringify(object),
});

const said = ({ subject, predicate, object, confidence, valid_to, retracted_at }: Fact) =>
  `${subject} ${predicate}: ${typeof object === 'string' ? object : JSON.stringify(object)} (${confidence.toFixed(2)}${
    retracted_at ? ', retracted' : valid_to ? `, until ${valid_to}` : ''
  })`;

const assertFact = define({
  name: 'assert_fact',
  graphqlName: 'assertFact',
  title: 'Assert a fact',
  description:
    'State that something is so: subject, predicate, object. Said again, a fact gets surer; where a subject has one value at a time, a new one supersedes the old, which stays as history.',
  input: assertInput,
  output: z.object({ fact }),
  isReadOnly: false,
  isDestructive: false,
  isIdempotent: false,
  audit: 'INSERT',
  enqueuesEmbeddings: true,
  run: (client, input) => call<{ fact: Fact }>(client, `${asJson} as fact`, 'assert_fact', withJson(input)),
  summarize: ({ fact }) => `Noted: ${said(fact)}.`,
});

const findFacts = define({
  name: 'find_facts',
  graphqlName: 'findFacts',
  title: 'Find facts',
  description: 'What is held to be true of a subject, by a predicate, or of an object; the surest first.',
  input: findInput,
  output: z.object({ facts: z.array(fact) }),
  isReadOnly: true,
  isDestructive: false,
  isIdempotent: true,
  audit: 'READ',
  enqueuesEmbeddings: false,
  run: (client, input) =>
    call<{ facts: Fact[] }>(client, `coalesce(jsonb_agg(${asJson}), '[]') as facts`, 'find_facts', withJson(input)),
  summarize: ({ facts }) =>
    facts.length === 0
      ? 'No such fact is known among those you may read.'
      : `${facts.length === 1 ? '1 fact' : `${facts.length} facts`}:\n${facts.map(said).join('\n')}`,
});

export const factOperations: readonly Operation[] = [assertFact, findFacts];
