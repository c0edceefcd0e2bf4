// What operations that search show where nothing matched well: the nearest memories, apart from the hits.
import { z } from 'zod';
import { oneLine } from './fields.ts';
import { graphqlTypes, memoryRelation } from './graphql-types.ts';
import { recalled } from './recalled.ts';
import { type AsStored, label, type Reader, standing, withStanding } from './standing.ts';

const one = z
  .object({
    packet_id: z.string(),
    kind: z.string(),
    snippet: z.string(),
    score: z.number(),
    relevance: z.number().nullable().describe('How likely it has to do with the query, 0 to 1.'),
    scope: z.string(),
    project_id: z.string().nullable(),
    ...standing,
  })
  .register(graphqlTypes, {
    name: 'NearestMemory',
    description: 'A memory that is nearest to a query that nothing matched well.',
    relations: { memory: memoryRelation },
  });

export const nearest = z.array(one).describe('Where nothing matched well: up to three that may have to do with it.');

export type StoredNearest = AsStored<z.output<typeof one>>[];
export const withNearest = <Row extends { nearest: StoredNearest }>({ nearest, ...row }: Row) => ({
  ...row,
  nearest: nearest.map(withStanding),
});

/** Their lines in the text of an answer without hits. */
export const linesOf = (near: z.output<typeof nearest>, reader: Reader) =>
  near
    .map((memory) => `\nnearest: ${label(memory.packet_id, memory, reader)} ${recalled(oneLine(memory.snippet))}`)
    .join('');
