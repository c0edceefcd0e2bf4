// The GraphQL schema that the roles of l9_gateway see. It is built from the catalogue of a database and from nothing else.
import './environment.ts';
import { makeSchema } from 'postgraphile';
import type { PgClient, WithPgClient } from 'postgraphile/@dataplan/pg';
import type { GraphQLSchema } from 'postgraphile/graphql';
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber';
import { pgServiceOf } from './pg-adaptor.ts';
import { adminPreset } from './plugins/admin.ts';
import { auditedSourcesPlugin } from './plugins/audited-sources.ts';
import { filtersPreset } from './plugins/filters.ts';
import { healthPlugin } from './plugins/health.ts';
import { hiddenFunctionsPlugin } from './plugins/hidden-functions.ts';
import { inputsPlugin } from './plugins/inputs.ts';
import { kindViewsPlugin } from './plugins/kind-views.ts';
import { limitsPlugin } from './plugins/limits.ts';
import { namesPlugin } from './plugins/names.ts';
import { nullOrderPlugin } from './plugins/null-order.ts';
import { operationRowsPlugin } from './plugins/operation-rows.ts';
import { operationsPlugin } from './plugins/operations.ts';
import { pagesPlugin } from './plugins/pages.ts';
import { surfacePreset } from './plugins/surface.ts';
import { tagsPlugin } from './plugins/tags.ts';
import { typeCodecsPlugin } from './plugins/type-codecs.ts';
import { valuesPlugin } from './plugins/values.ts';
import { viewsPlugin } from './plugins/views.ts';
import { wherePlugin } from './plugins/where.ts';

/** All that makes the schema, and the checks of requests that hold for every gateway. */
export const schemaPreset: GraphileConfig.Preset = {
  extends: [PostGraphileAmberPreset, filtersPreset, surfacePreset],
  plugins: [
    limitsPlugin,
    inputsPlugin,
    valuesPlugin,
    pagesPlugin,
    tagsPlugin,
    kindViewsPlugin,
    hiddenFunctionsPlugin,
    namesPlugin,
    typeCodecsPlugin,
    nullOrderPlugin,
    wherePlugin,
    operationsPlugin,
    operationRowsPlugin,
    viewsPlugin,
    healthPlugin,
    ...adminPreset.plugins!,
    auditedSourcesPlugin,
  ],
  // Callers write through operations and SQL functions only.
  disablePlugins: ['PgMutationCreatePlugin', 'PgMutationUpdateDeletePlugin', 'SwallowErrorsPlugin'],
};

/** Builds the schema of databases with this catalogue (see `readCatalogue`), which takes the process a second. */
export type BuildSchema = (catalogue: string) => Promise<GraphQLSchema>;

export const buildSchema: BuildSchema = async (catalogue) => {
  // The schema keeps its preset, and what PostGraphile was given as the text. So the text is let go where it is read, which is once.
  const texts = [catalogue];
  const introspection = { toString: () => texts.pop() };
  const client = { query: async () => ({ rows: [{ introspection }] }) } as unknown as PgClient;
  const withPgClient: WithPgClient = async (_settings, callback) => callback(client);
  const { schema } = await makeSchema({ extends: [schemaPreset], pgServices: [pgServiceOf(withPgClient)] });
  return schema;
};
