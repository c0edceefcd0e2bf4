import { z } from 'zod';
import { object, oneLine } from './fields.ts';
import { graphqlTypes } from './graphql-types.ts';
import { defineLongOperation } from './operation.ts';
import { recalled } from './recalled.ts';
import { byline, writer } from './standing.ts';

const signedBy = (by: string) => (by ? `Archived${by}. ` : '');

export const retrieveSessionFromCascade = defineLongOperation({
  name: 'retrieve_session_from_cascade',
  title: 'Open an archived session',
  toolSet: 'archive',
  description:
    'Fetch, verify and decrypt an archived session by its pointer. Bytes that were changed are never returned.',
  isReadOnly: true,
  audit: 'RETRIEVE',
  input: z.strictObject({ pointer: z.string().describe('cascade:// and 64 hexadecimal digits.') }),
  output: z
    .object({
      session_data: object.describe('The session as it was stored.'),
      ...writer,
      verified: z.literal(true).describe('Hash and tag of the stored bytes were checked.'),
    })
    .register(graphqlTypes, { name: 'RetrievedSession' }),
  perform: async ({ pointer }, { archive, query }) => {
    const { session, writer: archivedBy } = await archive.retrieveSession(query, pointer);
    return { session_data: session, ...archivedBy, verified: true as const };
  },
  recalls: () => true,
  summarize: ({ session_data, ...archive }, reader) =>
    `${signedBy(byline(archive, reader))}Session ${recalled(oneLine(String(session_data.session_id)))}, verified.`,
});
