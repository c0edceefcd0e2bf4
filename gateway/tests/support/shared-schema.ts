import { createHash } from 'node:crypto';
import type { GraphQLSchema } from 'postgraphile/graphql';
import { type BuildSchema, buildSchema } from '../../src/graphql/schema.ts';

// Most tests have the same catalogue. The others are few, and each schema takes much memory.
const MAX_SCHEMAS = 2;

/** By the hash of their catalogue, those that were used last at the end. */
const schemas = new Map<string, Promise<GraphQLSchema>>();

/** Gateways of one test process share the schema of a catalogue: to build it takes longer than most tests do. */
export const sharedSchema: BuildSchema = (catalogue) => {
  const hash = createHash('sha256').update(catalogue).digest('base64');
  const schema = schemas.get(hash) ?? buildSchema(catalogue);
  schemas.delete(hash);
  schemas.set(hash, schema);
  schema.catch(() => schemas.delete(hash));
  if (schemas.size > MAX_SCHEMAS) schemas.delete([...schemas.keys()][0]!);
  return schema;
};
