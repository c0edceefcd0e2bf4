import { z } from 'zod';
import { packetId } from './fields.ts';
import { defineLongOperation } from './operation.ts';

/** For `l9-memory export`: not offered to models, which have no use for bytes and keys. */
export const exportArchive = defineLongOperation({
  name: 'export_archive',
  title: 'Export an archive',
  toolSet: 'archive',
  description: 'The encrypted bytes of an archive and, if it is asked for, its key.',
  audit: 'RETRIEVE',
  isIdempotent: true,
  enqueuesEmbeddings: false,
  input: z.strictObject({ archive_id: packetId, with_key: z.boolean().default(false) }),
  output: z.object({ bytes: z.string().nullable(), key: z.string().nullable(), problem: z.string().nullable() }),
  perform: async ({ archive_id, with_key }, { archive, query }) => {
    const { bytes, key, problem } = await archive.carryOut(query, archive_id);
    return {
      bytes: bytes?.toString('base64') ?? null,
      key: with_key ? (key?.toString('base64') ?? null) : null,
      problem,
    };
  },
  summarize: () => 'The archive as it is stored.',
});
