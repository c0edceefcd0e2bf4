import { z } from 'zod';
import { counted, packetId } from './fields.ts';
import { graphqlTypes, uuidText } from './graphql-types.ts';
import { defineLongOperation } from './operation.ts';

const after = packetId.nullish().describe('The next of the former answer; default: from the beginning.');
const next = uuidText().nullable().describe('Pass it as after to go on; null after the last.');

const problem = z
  .object({
    pointer: z.string(),
    problem: z
      .enum(['missing', 'hash', 'tag', 'key', 'unavailable'])
      .describe(
        'missing: no store has it; hash, tag: it was changed; key: no master key opens it; unavailable: a store is down.',
      ),
  })
  .register(graphqlTypes, { name: 'ArchiveProblem', description: 'An archive that could not be read.' });

export const verifyArchives = defineLongOperation({
  name: 'verify_archives',
  title: 'Verify archives',
  toolSet: 'archive',
  description: 'Read the bytes of one of your archives, or of all, page by page, and check hash and tag of each.',
  audit: 'RETRIEVE',
  isReadOnly: true,
  input: z.strictObject({
    pointer: z.string().nullish().describe('Only this archive.'),
    after,
    limit: z.int().min(1).max(100).default(20),
  }),
  output: z.object({ verified: z.int(), problems: z.array(problem), next }),
  perform: ({ pointer, after, limit }, { archive, query }) =>
    archive.verify(query, pointer ?? null, after ?? null, limit),
  summarize: ({ verified, problems }) => `${counted(verified, 'archive')} whole, ${problems.length} not.`,
});

export const rotateArchiveKeys = defineLongOperation({
  name: 'rotate_archive_keys',
  title: 'Rotate the keys of archives',
  toolSet: 'admin',
  description:
    'Admins: wrap the keys of archives with the first master key, page by page. Stored bytes stay as they are.',
  audit: 'UPDATE',
  isIdempotent: true,
  input: z.strictObject({ after, limit: z.int().min(1).max(1000).default(100) }),
  output: z.object({
    rotated: z.int(),
    failed: z.int().describe('Archives whose former master key is not given, or whose key does not open.'),
    next,
  }),
  perform: ({ after, limit }, { archive, query }) => archive.rotate(query, after ?? null, limit),
  summarize: ({ rotated, failed }) => `${counted(rotated, 'key')} wrapped anew, ${failed} failed.`,
});
