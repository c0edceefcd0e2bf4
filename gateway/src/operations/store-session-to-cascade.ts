import { z } from 'zod';
import { KnownError } from '../base/errors.ts';
import { counted, finding, object, projectId, scope, tags } from './fields.ts';
import { graphqlTypes, memoryRelation, uuidText } from './graphql-types.ts';
import { defineLongOperation } from './operation.ts';
import { isObject } from './read-input.ts';
import { makeStorable } from './storable.ts';

export const storeSessionToCascade = defineLongOperation({
  name: 'store_session_to_cascade',
  title: 'Archive a session',
  toolSet: 'archive',
  description:
    'Keep a whole session for good, encrypted. Only listed fields are stored, and nothing if anything in them looks like ' +
    'a secret or personal data: then findings says what and where. A session that is stored already answers with its pointer.',
  audit: 'ARCHIVE',
  isIdempotent: true,
  takesLargeInput: true,
  input: z.strictObject({
    session: object
      .nullish()
      .describe(
        'An object with session_id, and timestamp, ended_at, tool_name, success, summary, tags, messages (role, text, tool_calls).',
      ),
    path: z.string().nullish().describe('Over stdio, instead of session: a file of Claude Code, Codex or JSON lines.'),
    session_id: z.string().nullish().describe('Over stdio, instead of session: its id in Claude Code, Codex or cm.'),
    tags: tags.nullish().describe('More labels.'),
    scope: scope.nullish().describe('Default: the scope of yours that the fewest can read.'),
    project_id: projectId.nullish(),
    redact: z.boolean().nullish().describe('Replace what looks like a secret, instead of refusing the session.'),
  }),
  output: z
    .object({
      status: z.enum(['inserted', 'skipped_dedupe', 'refused']),
      pointer: z.string().nullable().describe('The address of the archive.'),
      content_hash: z.string().nullable().describe('SHA-256 of the encrypted bytes.'),
      indexed: z.boolean().describe('Whether searches find it.'),
      redacted: z.int().describe('How many secrets were replaced.'),
      packet_id: uuidText().nullable().describe('The memory of kind session.'),
      findings: z.array(finding).nullable().describe('Why it was refused.'),
      drafted: z.array(uuidText()).describe('Memories that a chat model drafted from it.'),
      predecessor: z.string().nullable().describe('The archive of the same session from before it was resumed.'),
      notices: z
        .array(z.string())
        .nullable()
        .describe('What of its file was skipped, or could not be read as it stands.'),
    })
    .register(graphqlTypes, { name: 'ArchivedSession', relations: { memory: memoryRelation } }),
  // The output of a tool may hold bytes that no text can hold. In a session they are replaced, as where it is read out of a file.
  setAside: (input) => {
    if (isObject(input) && isObject(input.session)) makeStorable(input.session);
    return input;
  },
  perform: async ({ session, path, session_id, ...options }, { archive, query }) => {
    for (const [field, value] of Object.entries({ path, session_id })) {
      if (session && value?.trim())
        throw new KnownError('L9VAL', `${field}: give the session or its ${field}, not both`, field);
    }
    if (session) {
      // The reader of the file says which parts it could not read.
      const { notices, ...read } = session;
      const told = z.array(z.string().max(200)).max(20).safeParse(notices);
      return { ...(await archive.storeSession(query, read, options)), notices: told.success ? told.data : null };
    }
    throw new KnownError(
      'L9VAL',
      'session: missing; the server reads no files, only `l9-memory mcp` and `l9-memory archive add` do',
      'session',
    );
  },
  summarize: ({ status, pointer, findings, drafted, notices }) => {
    const outcome =
      status === 'refused'
        ? `Refused, nothing was stored: ${findings!.map(({ pattern, path, line, column }) => `${pattern} at ${path}, line ${line}, column ${column}`).join('; ')}.`
        : `${status === 'inserted' ? 'Archived' : 'Archived already'} as ${pointer}.`;
    const draftedToo =
      drafted.length > 0 ? [`${counted(drafted.length, 'memory was', 'memories were')} drafted from it.`] : [];
    return [outcome, ...draftedToo, ...(notices ?? []).map((notice) => `${notice}.`)].join(' ');
  },
});
