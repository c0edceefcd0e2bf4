// What PostGraphile reads of the catalogue, from which alone the schema is built.
import { makeIntrospectionQuery } from 'postgraphile/graphile-build-pg/pg-introspection';
import { type Database, readInOneTrip } from '../database/index.ts';

/** The parts of PostGraphile's query that are replaced, and what they become. */
const replacements = [
  // It reads all schemas with the bodies of their functions. Those of which GraphQL shows something are a third of the whole.
  [
    `where nspname <> 'information_schema'
  )`,
    `where nspname in ('public', 'extensions', 'pg_catalog')
  )`,
  ],
  // PostGraphile makes nothing of policies, which are a fifth of the rest.
  [
    `(select coalesce((select json_agg(row_to_json(policies) order by polrelid, polname) from policies), '[]'::json))`,
    `'[]'::json`,
  ],
  // The gateway makes the indexes of vectors itself, for each model, and PostGraphile makes nothing of them.
  [
    `relnamespace in (select namespaces._id from namespaces where`,
    `relam not in (select oid from pg_catalog.pg_am where amname = 'hnsw')
    and relnamespace in (select namespaces._id from namespaces where`,
  ],
  ['where indrelid in', 'where indexrelid in (select classes._id from classes) and indrelid in'],
  // The name of the database and the statistics of its tables say nothing about the schema. Without them, databases that are made
  // alike give the same text.
  [
    `select pg_database.oid as _id, *
    from pg_catalog.pg_database`,
    `select datdba, datacl
    from pg_catalog.pg_database`,
  ],
  [
    'json_agg(row_to_json(classes) ',
    `json_agg(to_jsonb(classes)
      - '{relfilenode,relpages,reltuples,relallvisible,relallfrozen,relfrozenxid,relminmxid}'::text[] `,
  ],
] as const;

const query = replacements.reduce((text, [from, to]) => text.replace(from, to), makeIntrospectionQuery());

/** The catalogue as PostGraphile takes it: JSON of some megabytes. */
export const readCatalogue = (database: Pick<Database, 'pool' | 'replicas'>): Promise<string> =>
  readInOneTrip(database, 'the catalogue', {}, async (client) => {
    const { rows } = await client.query<{ introspection: string }>(query);
    return rows[0]!.introspection;
  });
