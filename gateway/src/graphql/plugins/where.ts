// The arguments `where` and `includeArchived` of connections of memories: conditions on fields of the envelope, as search_memory takes them. PostgreSQL
// finds the memories; where it could not look at all of them, the field `notice` of the connection says so.
import { type PgClient, type PgSelectStep, TYPES, withPgClient } from 'postgraphile/@dataplan/pg';
import { constant, type Step } from 'postgraphile/grafast';
import { GraphQLBoolean, GraphQLString } from 'postgraphile/graphql';
import { sql } from 'postgraphile/pg-sql2';
import { where as whereInput } from '../../operations/fields.ts';
import { kindViews } from './kind-views.ts';

interface Connection extends Step {
  getSubplan(): PgSelectStep;
}

/** The arguments of the connections that are being planned. */
const wheres = new WeakMap<Step, Step>();

const includeArchived = {
  type: GraphQLBoolean,
  defaultValue: false,
  description: 'Memories that the rules of their kind have archived, too.',
  applyPlan(_$parent: Step, $connection: Connection, given: { getRaw(): Step }) {
    const $memories = $connection.getSubplan();
    const isIncluded = $memories.placeholder(given.getRaw(), TYPES.boolean);
    const { alias } = $memories;
    $memories.where(sql`(${isIncluded} or ${alias}.archived_at is null or ${alias}.archived_at > now())`);
  },
};

export const wherePlugin: GraphileConfig.Plugin = {
  name: 'WherePlugin',
  version: '1.0.0',
  schema: {
    hooks: {
      GraphQLObjectType_fields_field_args(args, build, { scope }) {
        const memory = build.pgResources.memory;
        const codec = scope.isPgFieldConnection ? scope.pgFieldResource?.codec : undefined;
        if (!memory || !codec) return args;
        // Rows of the views of kinds are memories too.
        if (codec !== memory.codec && !kindViews.has(codec.extensions?.pg?.name ?? '')) return args;
        const withArchived = build.extend(
          args,
          { includeArchived: includeArchived },
          'Adding the argument includeArchived of memories',
        );
        if (codec !== memory.codec) return withArchived;
        return build.extend(
          withArchived,
          {
            where: {
              type: build.getInputTypeByName('JSON'),
              description: whereInput.description,
              applyPlan(_$parent: Step, $connection: Connection, given: { getRaw(): Step }) {
                const $where = given.getRaw();
                const $memories = $connection.getSubplan();
                const where = $memories.placeholder($where, TYPES.jsonb);
                $memories.where(
                  sql`(${where} is null or ${$memories.alias}.packet_id = any ((select (search.find_where(${where})).packet_ids)::uuid[]))`,
                );
                wheres.set($connection, $where);
              },
            },
          },
          'Adding the argument where of memories',
        );
      },
      GraphQLObjectType_fields(fields, build, { scope }) {
        const memory = build.pgResources.memory;
        if (!scope.isConnectionType || !memory || scope.pgCodec !== memory.codec) return fields;
        return build.extend(
          fields,
          {
            notice: {
              type: GraphQLString,
              description: 'A sentence where not all memories could be looked at for the fields in where.',
              extensions: {
                grafast: {
                  plan($connection: Step) {
                    const $where = wheres.get($connection);
                    if (!$where) return constant(null);
                    return withPgClient(memory.executor, $where, async (client: PgClient, where: unknown) => {
                      if ((where ?? null) === null) return null;
                      const { rows } = await client.query<{ notice: string | null }>({
                        text: 'select (search.find_where($1)).notice',
                        values: [JSON.stringify(where)],
                      });
                      return rows[0]?.notice ?? null;
                    });
                  },
                },
              },
            },
          },
          'Adding the notice of connections of memories',
        );
      },
    },
  },
};
