// PostGraphile has to know pgvector's types and those of transaction ids and multiranges, or it complains of every column and
// parameter of them. Vectors are never sent out: tags.ts hides the columns.
import type {} from 'postgraphile';
import { TYPES } from 'postgraphile/@dataplan/pg';
import { gatherConfig } from 'postgraphile/graphile-build';
import { sql } from 'postgraphile/pg-sql2';

const codec = (name: string, ...path: string[]) => ({
  name,
  sqlType: sql.identifier(...path),
  toPg: (value: string) => value,
  fromPg: (value: string) => value,
  executor: null,
  attributes: undefined,
});
const codecs: Record<string, ReturnType<typeof codec>> = {
  interval: codec('interval', 'pg_catalog', 'interval'),
  vector: codec('vector', 'extensions', 'vector'),
  halfvec: codec('halfvec', 'extensions', 'halfvec'),
  xid8: codec('xid8', 'pg_catalog', 'xid8'),
  int4multirange: codec('int4multirange', 'pg_catalog', 'int4multirange'),
};

/** PostGraphile would make an object of an interval, and an input of its own. */
const DURATION = 'Duration';

/** That of PostGraphile, which fails on the null in a cursor of an ordered column. */
const bool = { ...TYPES.boolean, fromPg: (value: string | null) => (value === null ? null : value.startsWith('t')) };

export const typeCodecsPlugin: GraphileConfig.Plugin = {
  name: 'TypeCodecsPlugin',
  version: '1.0.0',
  before: ['PgCodecsPlugin'],
  gather: gatherConfig({
    hooks: {
      pgCodecs_findPgCodec(_info, event) {
        if (event.pgCodec) return;
        const { typname } = event.pgType;
        const known = typname === 'bool' ? bool : Object.hasOwn(codecs, typname) && codecs[typname];
        if (known) event.pgCodec = known;
      },
    },
  }),
  schema: {
    hooks: {
      init(_, build) {
        for (const mode of ['input', 'output'] as const) build.setGraphQLTypeForPgCodec(bool, mode, 'Boolean');
        build.registerScalarType(
          DURATION,
          {},
          () => ({
            description: 'A length of time as text, such as "90 days" or "1 year 6 mons".',
            serialize: String,
            parseValue: String,
            parseLiteral: (node) => ('value' in node ? String(node.value) : null),
          }),
          'TypeCodecsPlugin',
        );
        for (const name of Object.keys(codecs)) {
          const known = build.pgCodecs[name];
          if (known)
            for (const mode of ['input', 'output'] as const)
              build.setGraphQLTypeForPgCodec(known, mode, name === 'interval' ? DURATION : 'String');
        }
        return _;
      },
    },
  },
};
