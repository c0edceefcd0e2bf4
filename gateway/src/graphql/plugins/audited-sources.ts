// Finds the tables and functions that the types and fields of a schema stand for, by which the audit log names what a request read.
import type { GraphQLSchema } from 'postgraphile/graphql';
import { camelCase } from '../../operations/graphql-types.ts';
import { operations } from '../../operations/index.ts';
import { ADMIN_QUERY } from './admin.ts';
import type { Sources } from './rows-read.ts';
import { fieldsOf, isFunction } from './schema.ts';

const sourcesBySchema = new WeakMap<GraphQLSchema, Sources>();

export const sourcesOf = (schema: GraphQLSchema): Sources => sourcesBySchema.get(schema)!;

export const auditedSourcesPlugin: GraphileConfig.Plugin = {
  name: 'AuditedSourcesPlugin',
  version: '1.0.0',
  schema: {
    hooks: {
      finalize(schema, build) {
        const tables = new Map<string, string>();
        const keys = new Map<string, string>();
        const queries = new Map(
          operations.map(({ name, sqlFunction }) => [camelCase(name), { name: sqlFunction, isAudited: true }]),
        );
        const attributes = new Set<string>();
        const fields = {
          ...fieldsOf(schema.getQueryType()),
          ...fieldsOf(schema.getType(ADMIN_QUERY)),
        };
        for (const resource of Object.values(build.pgResources)) {
          const { codec } = resource;
          const functionName = resource.extensions?.pg?.name;
          if (functionName && isFunction(resource)) {
            const field = build.inflection.customQueryField({ resource });
            // A function is volatile because it writes its own audit row.
            if (field in fields && !queries.has(field))
              queries.set(field, { name: functionName, isAudited: resource.isMutation });
          }
          const table = codec.extensions?.pg?.name;
          if (!codec.attributes || !table) continue;
          const type = build.inflection.tableType(codec);
          if (!schema.getType(type)) continue;
          if (resource.parameters || resource.isVirtual) {
            for (const attributeName of Object.keys(codec.attributes))
              attributes.add(`${type}.${build.inflection.attribute({ attributeName, codec })}`);
            continue;
          }
          tables.set(type, table);
          const key = keyOf(resource.uniques);
          const field = key && build.inflection.attribute({ attributeName: key, codec });
          if (field && field in fieldsOf(schema.getType(type))) keys.set(type, field);
        }
        sourcesBySchema.set(schema, { tables, keys, queries, attributes });
        return schema;
      },
    },
  },
};

/** The column that identifies a row to its readers, who know their tenant: a row of a tenant's settings is named by the tenant. */
function keyOf(uniques: readonly { isPrimary?: boolean; attributes: readonly string[] }[]): string | undefined {
  const attributes = (uniques.find(({ isPrimary }) => isPrimary) ?? uniques[0])?.attributes ?? [];
  return attributes.find((name) => name !== 'tenant_id') ?? attributes[0];
}
