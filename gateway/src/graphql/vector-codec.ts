// PostGraphile has to know pgvector's type, or it complains of every column and parameter of it. No field is ever made
// from it: vectors are never sent out (tags.ts hides the column).
import type {} from 'postgraphile';
import { gatherConfig } from 'postgraphile/graphile-build';
import { sql } from 'postgraphile/pg-sql2';

const vectorCodec = {
  name: 'vector',
  sqlType: sql`extensions.vector`,
  toPg: (value: string) => value,
  fromPg: (value: string) => value,
  executor: null,
  attributes: undefined,
};

export const vectorCodecPlugin: GraphileConfig.Plugin = {
  name: 'VectorCodecPlugin',
  version: '1.0.0',
  gather: gatherConfig({
    hooks: {
      pgCodecs_findPgCodec(_info, event) {
        if (!event.pgCodec && event.pgType.typname === 'vector') event.pgCodec = vectorCodec as never;
      },
    },
  }),
  schema: {
    hooks: {
      init(_, build) {
        const codec = build.pgCodecs.vector;
        if (codec)
          for (const mode of ['input', 'output'] as const) build.setGraphQLTypeForPgCodec(codec, mode, 'String');
        return _;
      },
    },
  },
};
