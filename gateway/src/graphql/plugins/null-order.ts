// Orders by a column that may be null. PostGraphile compares a null in a cursor the wrong way around, so that pages would end
// before rows with null or repeat them. Here such rows are ordered by whether the column is null first: the order of the rows is
// that of PostgreSQL (null comes last, or first if descending), and the values that a cursor compares are never null on one side.
import { type PgCodec, type PgCodecWithAttributes, type PgSelectQueryBuilder, TYPES } from 'postgraphile/@dataplan/pg';
import { sql } from 'postgraphile/pg-sql2';

const hasColumns = (codec: PgCodec | undefined): codec is PgCodecWithAttributes => codec?.attributes !== undefined;

export const nullOrderPlugin: GraphileConfig.Plugin = {
  name: 'NullOrderPlugin',
  version: '1.0.0',
  after: ['PgOrderAllAttributesPlugin'],
  schema: {
    hooks: {
      GraphQLEnumType_values(values, build, { scope: { isPgRowSortEnum, pgCodec } }) {
        if (!isPgRowSortEnum || !hasColumns(pgCodec)) return values;
        for (const [attributeName, { notNull, via }] of Object.entries(pgCodec.attributes)) {
          if (notNull || via) continue;
          for (const variant of ['asc', 'desc'] as const) {
            const value = values[build.inflection.orderByAttributeEnum({ codec: pgCodec, attributeName, variant })];
            const grafast = value?.extensions?.grafast;
            const apply = grafast?.apply;
            if (!apply) continue;
            grafast.apply = (query: PgSelectQueryBuilder, info) => {
              query.orderBy({
                fragment: sql`(${query.alias}.${sql.identifier(attributeName)} is null)`,
                codec: TYPES.boolean,
                direction: variant === 'asc' ? 'ASC' : 'DESC',
                nullable: false,
              });
              apply(query, info);
            };
          }
        }
        return values;
      },
    },
  },
};
