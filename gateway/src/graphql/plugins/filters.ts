// The argument `filter` of a connection: ranges, lists and null. A filter only narrows what row-level security leaves. Its
// operators are leakproof, so the planner may use an index for them below the policies, and no error quotes a hidden row.
import type { PgCodecWithAttributes } from 'postgraphile/@dataplan/pg';
import { PostGraphileConnectionFilterPreset } from 'postgraphile-plugin-connection-filter';

/**
 * The columns of each table that a filter takes. An index holds each of them, and none is computed: the expression of a
 * generated column, such as audit_log.caller, is not leakproof.
 */
export const filterableColumns: Readonly<Record<string, readonly string[]>> = {
  packet_store: ['packet_id', 'packet_type', 'scope', 'project_id', 'branch', 'thread_id', 'timestamp'],
  knowledge_facts: ['fact_id', 'source_packet', 'subject_normalized', 'predicate', 'valid_from'],
  entity_relationships: [
    'relationship_id',
    'source_normalized',
    'target_normalized',
    'relationship_type',
    'scope',
    'project_id',
    'confidence',
  ],
  audit_log: ['audit_id', 'occurred_at', 'row_id'],
};

const OPERATORS = ['isNull', 'equalTo', 'in', 'lessThan', 'lessThanOrEqualTo', 'greaterThan', 'greaterThanOrEqualTo'];

/** Keeps the fields of these columns. A table without any gets no filter type, and so its connections get no argument. */
const filterableColumnsPlugin: GraphileConfig.Plugin = {
  name: 'FilterableColumnsPlugin',
  version: '1.0.0',
  after: ['PgConnectionArgFilterAttributesPlugin'],
  before: ['PgConnectionArgFilterLogicalOperatorsPlugin'],
  schema: {
    hooks: {
      GraphQLInputObjectType_fields(fields, build, { scope: { isPgConnectionFilter, pgCodec } }) {
        if (!isPgConnectionFilter || !pgCodec?.attributes) return fields;
        // It has attributes, by the line above.
        const codec = pgCodec as PgCodecWithAttributes;
        const columns = filterableColumns[codec.extensions?.pg?.name ?? ''] ?? [];
        const names = columns.map((attributeName) => build.inflection.attribute({ codec, attributeName }));
        return Object.fromEntries(names.map((name) => [name, fields[name]!]));
      },
    },
  },
};

export const filtersPreset: GraphileConfig.Preset = {
  extends: [PostGraphileConnectionFilterPreset],
  plugins: [filterableColumnsPlugin],
  disablePlugins: [
    'PgConnectionArgFilterComputedAttributesPlugin',
    'PgConnectionArgFilterCompositeTypeAttributesPlugin',
    'PgConnectionArgFilterRecordFunctionsPlugin',
    'PgConnectionArgFilterBackwardRelationsPlugin',
    'PgConnectionArgFilterForwardRelationsPlugin',
  ],
  schema: {
    connectionFilterAllowedOperators: OPERATORS,
    connectionFilterAllowedFieldTypes: ['String', 'UUID', 'Datetime', 'Float'],
    connectionFilterArrays: false,
    connectionFilterSetofFunctions: false,
  },
};
