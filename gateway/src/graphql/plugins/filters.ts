// The argument `filter` of every list: equality, ranges, lists and null. A filter only narrows what row-level security leaves. Its
// operators are leakproof, so PostgreSQL may evaluate them below the policies, and no error quotes a hidden row; what is not leakproof,
// such as the expression of a generated column or of a view, it evaluates after them. A filter takes the columns that an index
// holds, and those that tags.ts and kind-views.ts mark.
import { PostGraphileConnectionFilterPreset } from 'postgraphile-plugin-connection-filter';

const OPERATORS = ['isNull', 'equalTo', 'in', 'lessThan', 'lessThanOrEqualTo', 'greaterThan', 'greaterThanOrEqualTo'];

export const filtersPreset: GraphileConfig.Preset = {
  extends: [PostGraphileConnectionFilterPreset],
  disablePlugins: [
    'PgConditionArgumentPlugin',
    'PgConditionCustomFieldsPlugin',
    'PgConnectionArgFilterComputedAttributesPlugin',
    'PgConnectionArgFilterCompositeTypeAttributesPlugin',
    'PgConnectionArgFilterRecordFunctionsPlugin',
    'PgConnectionArgFilterBackwardRelationsPlugin',
    'PgConnectionArgFilterForwardRelationsPlugin',
  ],
  schema: {
    connectionFilterAllowedOperators: OPERATORS,
    connectionFilterAllowedFieldTypes: [
      'String',
      'Boolean',
      'UUID',
      'Int',
      'BigInt',
      'Float',
      'BigFloat',
      'Date',
      'Datetime',
    ],
    connectionFilterArrays: false,
    connectionFilterSetofFunctions: false,
  },
};
