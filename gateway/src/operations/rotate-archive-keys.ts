import { z } from 'zod';
import { counted } from './fields.ts';
import { graphqlTypes } from './graphql-types.ts';
import { defineLongOperation } from './operation.ts';
import { after, next } from './verify-archives.ts';

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
