import { z } from 'zod';
import { packetId } from './fields.ts';
import { defineLongOperation } from './operation.ts';

/** For `l9-memory import`: takes what export_archive answered in another place, once the row of the archive is imported. */
export const importArchive = defineLongOperation({
  name: 'import_archive',
  title: 'Import an archive',
  toolSet: 'admin',
  description: 'Admins: store the encrypted bytes of an imported archive, and its key.',
  audit: 'ARCHIVE',
  isIdempotent: true,
  enqueuesEmbeddings: false,
  input: z.strictObject({ archive_id: packetId, bytes: z.base64(), key: z.base64().nullish() }),
  output: z.object({ state: z.enum(['stored', 'present', 'left_out']) }),
  perform: async ({ archive_id, bytes, key }, { archive, query }) => ({
    state: await archive.carryIn(
      query,
      archive_id,
      Buffer.from(bytes, 'base64'),
      key ? Buffer.from(key, 'base64') : null,
    ),
  }),
  summarize: ({ state }) => state,
});
