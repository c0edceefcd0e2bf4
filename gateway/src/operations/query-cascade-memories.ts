import { z } from 'zod';
import { counted, oneLine, onlyProject, time, until } from './fields.ts';
import { graphqlTypes, memoryRelation, timeText, uuidText } from './graphql-types.ts';
import { call, defineOperation } from './operation.ts';
import { recalled } from './recalled.ts';
import { type AsStored, label, standing, withStanding } from './standing.ts';

const archive = z
  .object({
    pointer: z.string(),
    title: z.string(),
    summary: z.string(),
    tags: z.array(z.string()),
    source_tool: z.string().nullable(),
    session_id: z.string().nullable(),
    size: z.number().describe('Encrypted bytes.'),
    happened_at: timeText().describe('When the session ended, or else began, or else was archived.'),
    created_at: timeText().describe('When it was archived.'),
    packet_id: uuidText(),
    ...standing,
    predecessor: z.string().nullable().describe('The archive of the same session from before it was resumed.'),
  })
  .register(graphqlTypes, {
    name: 'FoundSession',
    description: 'What is known of an archived session without opening it.',
    relations: { memory: memoryRelation },
  });

export const queryCascadeMemories = defineOperation({
  name: 'query_cascade_memories',
  title: 'Find archived sessions',
  toolSet: 'archive',
  description:
    'Find archived sessions by words of their summary, by tags and time, or list the newest. Reads the index only. ' +
    'retrieve_session_from_cascade opens one.',
  isReadOnly: true,
  audit: 'SEARCH',
  inferredProject: () => 'narrows',
  input: z.strictObject({
    query: z.string().nullish(),
    tags: z.array(z.string()).nullish().describe('Any of these.'),
    since: time.nullish().describe('Sessions that ended (or else began, or else were archived) then or later.'),
    until: until.nullish().describe('Sessions before that time.'),
    limit: z.int().min(1).max(100).default(20),
    project_id: onlyProject.nullish(),
    session_id: z.string().nullish().describe('Only this session.'),
  }),
  output: z.object({ sessions: z.array(archive) }),
  graphql: { unwrap: 'sessions' },
  async run(client, input) {
    const row = await call<{ sessions: AsStored<z.output<typeof archive>>[] }>(
      client,
      `coalesce(jsonb_agg(jsonb_build_object('pointer', r.pointer, 'title', r.title, 'summary', r.summary, 'tags', r.tags,
        'source_tool', r.source_tool, 'session_id', r.session_id, 'size', r.size, 'happened_at', r.happened_at,
        'created_at', r.stored_at, 'packet_id', r.packet_id,
        'standing', standing.standing_of_memory(r.packet_id), 'predecessor', (
          select a.pointer from public.session_archives a where a.archive_id = r.predecessor_id))), '[]') as sessions`,
      'query_cascade_memories',
      input,
    );
    return { sessions: row.sessions.map(withStanding) };
  },
  recalls: ({ sessions }) => sessions.length > 0,
  summarize: ({ sessions }, reader) =>
    [
      `${counted(sessions.length, 'archived session')}${sessions.length > 0 ? ':' : '.'}`,
      ...sessions.map(
        (one, index) => `${index + 1}. ${label(one.pointer, one, reader)} ${recalled(oneLine(one.title))}`,
      ),
    ].join('\n'),
});
