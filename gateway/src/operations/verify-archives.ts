import { z } from 'zod';
import { counted, packetId } from './fields.ts';
import { graphqlTypes, uuidText } from './graphql-types.ts';
import { defineLongOperation } from './operation.ts';

export const after = packetId.nullish().describe('The next of the former answer; default: from the beginning.');
export const next = uuidText().nullable().describe('Pass it as after to go on; null after the last.');

const problem = z
  .object({
    pointer: z.string(),
    problem: z
      .enum(['missing', 'hash', 'tag', 'key', 'unavailable'])
      .describe(
        'missing: it is not there; hash, tag: it was changed; key: no master key opens it, or it was imported without its key; unavailable: a store is down.',
      ),
    store: z.string().nullable().describe('The store whose copy it is; null: no store has a copy that opens.'),
    repaired: z.boolean().describe('Whether the copy was written again from another store.'),
  })
  .register(graphqlTypes, {
    name: 'ArchiveProblem',
    description: 'What is wrong with an archive or one of its copies.',
  });

export const verifyArchives = defineLongOperation({
  name: 'verify_archives',
  title: 'Verify archives',
  toolSet: 'archive',
  description:
    'Check hash and tag of one of your archives, or of all, page by page, in every store, and write copies again that are missing or bad.',
  audit: 'RETRIEVE',
  isIdempotent: true,
  enqueuesEmbeddings: false,
  input: z.strictObject({
    pointer: z.string().nullish().describe('Only this archive.'),
    after,
    limit: z.int().min(1).max(100).default(20),
  }),
  output: z.object({
    verified: z.int().describe('Archives with a copy that opens.'),
    problems: z.array(problem),
    copied: z.int().describe('Copies for stores that did not have the archive before.'),
    next,
  }),
  perform: ({ pointer, after, limit }, { archive, query }) =>
    archive.verify(query, pointer ?? null, after ?? null, limit),
  summarize: ({ verified, problems }) =>
    `${counted(verified, 'archive')} whole, ${counted(problems.length, 'problem')}.`,
});
