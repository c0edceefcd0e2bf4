// What PostGraphile would offer by itself and nobody asks for: lookups by every unique key, relations to the tenant of a row, edges
// of small lists, and the same descriptions on each list. docs/reference/graphql.md says once what holds for all.
import type { PgResource, PgResourceUnique, PgSelectStep } from 'postgraphile/@dataplan/pg';
import type { GrafastFieldConfig, Step } from 'postgraphile/grafast';
import { pgSmartTags } from 'postgraphile/utils';

/** The key by which a table is looked up at the root; `filter` and `node` find rows of the others. */
const LOOKUPS: Readonly<Record<string, string>> = {
  packet_store: 'packet_id',
  decisions: 'packet_id',
  knowledge_facts: 'fact_id',
  reflection_store: 'reflection_id',
  session_archives: 'archive_id',
};

const isLookup = (resource: PgResource, { attributes }: PgResourceUnique) =>
  attributes.length === 1 && LOOKUPS[resource.extensions?.pg?.name ?? ''] === attributes[0];

/** Each row names its tenant, scope, org, model or caller by a column, and policies leave no choice of tenant. */
const UNRELATED: ReadonlySet<string> = new Set(['tenants', 'scopes', 'orgs', 'actors', 'embedding_models']);

const relationTags = pgSmartTags(
  [
    {
      kind: 'constraint',
      match: (constraint) => UNRELATED.has(constraint.getForeignClass()?.relname ?? ''),
      tags: { behavior: '-*', foreignBehavior: '-*' },
    },
  ],
  null,
  { name: 'RelationTagsPlugin' },
);

/** The longest lists, which clients page through by the cursors of their edges. */
const WITH_EDGES: ReadonlySet<string> = new Set(['packet_store', 'memory_access_log']);

/** Lists in an order that callers choose. All others come in the order of their primary key. */
const ORDERED: ReadonlySet<string> = new Set([
  'packet_store',
  'memory_access_log',
  'knowledge_facts',
  'entity_relationships',
  'reflection_store',
  'tasks',
  'decisions',
  'audit_log',
]);

/** A tenant has one row of each. */
const SETTINGS = /_settings$/;

/** Said once, in docs/reference/graphql.md. */
const COMMON_ARGUMENTS: ReadonlySet<string> = new Set([
  'first',
  'last',
  'before',
  'after',
  'offset',
  'orderBy',
  'filter',
]);

type Plan = NonNullable<GrafastFieldConfig<Step>['plan']>;

/** A list without the argument `orderBy` would have no order, and its pages could overlap. */
function inOrderOfKey(plan: Plan, { uniques }: PgResource): Plan {
  const { attributes = [] } = uniques.find(({ isPrimary }) => isPrimary) ?? {};
  return ($parent, args, info) => {
    const $list = plan($parent, args, info);
    const $rows: PgSelectStep = $list.getSubplan?.() ?? $list;
    for (const attribute of attributes) $rows.orderBy({ attribute, direction: 'ASC' });
    if (attributes.length > 0) $rows.setOrderIsUnique();
    return $list;
  };
}

/** In how many tables a column of this name has this comment. */
const commentsOf = new WeakMap<object, Map<string, number>>();
const MANY = 5;

/** Whether many tables have a column of this name and comment: `Memory` says what it means. */
function isRepeated(
  build: GraphileBuild.Build,
  { isPgClassType, pgCodec, fieldName }: { isPgClassType?: boolean; pgCodec?: unknown; fieldName: string },
  comment: string | null | undefined,
): boolean {
  if (fieldName === 'id') return true;
  if (!isPgClassType || !comment || pgCodec === build.pgResources.memory?.codec) return false;
  let counts = commentsOf.get(build);
  if (!counts) {
    counts = new Map();
    for (const { attributes } of Object.values(build.pgCodecs))
      for (const { description } of Object.values(attributes ?? {}))
        if (description) counts.set(description, (counts.get(description) ?? 0) + 1);
    commentsOf.set(build, counts);
  }
  return (counts.get(comment) ?? 0) >= MANY;
}

const START =
  'Agents begin with `searchMemory` (find by meaning and words), `saveMemory` (remember) and `memories` (list).';

const surfacePlugin: GraphileConfig.Plugin = {
  name: 'SurfacePlugin',
  version: '1.0.0',
  schema: {
    entityBehavior: {
      pgResourceUnique: {
        inferred: (behavior, [resource, unique]) => [
          behavior,
          isLookup(resource, unique) ? 'query:resource:single' : '-query:resource:single',
        ],
      },
      pgResource: {
        inferred: (behavior, { parameters, codec }) => {
          const table = codec.extensions?.pg?.name ?? '';
          if (parameters) return behavior;
          return [behavior, ORDERED.has(table) ? 'order' : '-order', SETTINGS.test(table) ? '-filter' : 'filter'];
        },
      },
    },
    hooks: {
      GraphQLObjectType(type, _build, { scope }) {
        const { isRootQuery, isRootMutation, isConnectionType, isConnectionEdgeType, isMutationPayload } = scope;
        if (isRootQuery)
          return { ...type, description: `${START} The other fields read tables and what is derived from memories.` };
        if (isRootMutation)
          return { ...type, description: `${START} The other fields change what memories are about.` };
        if (isConnectionType || isConnectionEdgeType || isMutationPayload) return { ...type, description: null };
        return type;
      },
      GraphQLObjectType_fields(fields, _build, { scope }) {
        const { isConnectionType, pgCodec } = scope;
        if (!isConnectionType || WITH_EDGES.has(pgCodec?.extensions?.pg?.name ?? '')) return fields;
        const { edges, ...rest } = fields;
        return rest;
      },
      GraphQLObjectType_fields_field(field, build, { scope }) {
        const { isConnectionType, isConnectionEdgeType, isMutationPayload, isPgFieldConnection, fieldName } = scope;
        const { isPgFieldSimpleCollection, pgFieldResource } = scope;
        const isList = (isPgFieldConnection || isPgFieldSimpleCollection) && !pgFieldResource?.parameters;
        const isCommon = isConnectionType
          ? ['nodes', 'edges', 'pageInfo', 'totalCount'].includes(fieldName)
          : isConnectionEdgeType || isMutationPayload || isList || isRepeated(build, scope, field.description);
        const shown = isCommon ? { ...field, description: null } : field;
        const table = pgFieldResource?.codec.extensions?.pg?.name ?? '';
        if (!isList || ORDERED.has(table) || !field.plan) return shown;
        return { ...shown, plan: inOrderOfKey(field.plan, pgFieldResource!) };
      },
      GraphQLObjectType_fields_field_args_arg(argument, _build, { scope: { argName } }) {
        return COMMON_ARGUMENTS.has(argName) ? { ...argument, description: null } : argument;
      },
      GraphQLInputObjectType(type, _build, { scope }) {
        const { isPgConnectionFilter, pgConnectionFilterOperators, isMutationInput } = scope;
        return isPgConnectionFilter || pgConnectionFilterOperators || isMutationInput
          ? { ...type, description: null }
          : type;
      },
      GraphQLInputObjectType_fields_field(field, _build, { scope }) {
        return scope.isPgConnectionFilter || scope.pgConnectionFilterOperators
          ? { ...field, description: null }
          : field;
      },
      GraphQLEnumType(type, _build, { scope }) {
        return scope.isPgRowSortEnum ? { ...type, description: null } : type;
      },
    },
  },
};

export const surfacePreset: GraphileConfig.Preset = {
  plugins: [relationTags, surfacePlugin],
  disablePlugins: ['NodeAccessorPlugin', 'ClientMutationIdDescriptionPlugin', 'PgMutationPayloadEdgePlugin'],
};
