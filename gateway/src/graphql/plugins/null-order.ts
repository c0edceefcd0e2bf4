// Orders by a column that may be null. PostGraphile compares a null in a cursor the wrong way around, so that pages would end
// before rows with null or repeat them. Here such rows are ordered by whether the column is null first: the order of the rows is
// that of PostgreSQL (null comes last, or first if descending), and the values that a cursor compares are never null on one side.
import { type PgCodecWithAttributes, type PgSelectQueryBuilder, TYPES } from 'postgraphile/@dataplan/pg';
import { sql } from 'postgraphile/pg-sql2';

type Apply = (query: PgSelectQueryBuilder) => void;

export const nullOrderPlugin: GraphileConfig.Plugin = {
  name: 'NullOrderPlugin',
  version: '1.0.0',
  after: ['PgOrderAllAttributesPlugin'],
  schema: {
    hooks: {
      GraphQLEnumType_values(values, build, { scope: { isPgRowSortEnum, pgCodec } }) {
        if (!isPgRowSortEnum || !pgCodec?.attributes) return values;
        const codec = pgCodec as PgCodecWithAttributes;
        for (const [attributeName, { notNull, via }] of Object.entries(codec.attributes)) {
          if (notNull || via) continue;
          for (const variant of ['asc', 'desc'] as const) {
            const value = values[build.inflection.orderByAttributeEnum({ codec, attributeName, variant })];
            const grafast = value?.extensions?.grafast as { apply?: Apply } | undefined;
            const apply = grafast?.apply;
            if (!apply) continue;
            grafast.apply = (query) => {
              query.orderBy({
                fragment: sql`(${query.alias}.${sql.identifier(attributeName)} is null)`,
                codec: TYPES.boolean,
                direction: variant === 'asc' ? 'ASC' : 'DESC',
                nullable: false,
              });
              apply(query);
            };
          }
        }
        return values;
      },
    },
  },
};
