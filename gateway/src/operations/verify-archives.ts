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
        'missing: it is not there; hash, tag: it was changed; key: no master key opens it; unavailable: a store is down.',
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

const keyInUse = z
  .object({ key_id: z.string(), archives: z.int() })
  .register(graphqlTypes, { name: 'ArchiveKeyInUse', description: 'A master key that archives need.' });

export const rotateArchiveKeys = defineLongOperation({
  name: 'rotate_archive_keys',
  title: 'Rotate the keys of archives',
  toolSet: 'admin',
  description:
    'Admins: wrap the keys of archives with the first master key, page by page; operators: those of all tenants. Stored bytes stay as they are.',
  audit: 'UPDATE',
  isIdempotent: true,
  enqueuesEmbeddings: false,
  input: z.strictObject({ after, limit: z.int().min(1).max(1000).default(100) }),
  output: z.object({
    rotated: z.int(),
    failed: z.int().describe('Archives whose former master key is not given, or whose key does not open.'),
    keys: z
      .array(keyInUse)
      .nullable()
      .describe('After the last page: the master keys that archives need, of your tenant, or for an operator of all.'),
    next,
  }),
  perform: ({ after, limit }, { archive, query }) => archive.rotate(query, after ?? null, limit),
  summarize: ({ rotated, failed }) => `${counted(rotated, 'key')} wrapped anew, ${failed} failed.`,
});
