import { z } from 'zod';
import { isBlank } from '../input/text.ts';
import { hits, object, onlyProject, vectorParameters } from './fields.ts';
import { defineOperation, type EmbeddedText, retryOf } from './operation.ts';
import { callForHits, searchMemory } from './search-memory.ts';

export const previewSearch = defineOperation({
  name: 'preview_search',
  title: 'Preview a search',
  toolSet: 'admin',
  description:
    'Admins: search with other weights than those of the tenant, and change nothing: no setting, and no record of which memories were found, so their access_id takes no feedback.',
  input: z.strictObject({
    query: z.string().describe('What to search for, in plain words.'),
    weights: object
      .nullish()
      .describe(
        'Weights by name, such as {"lexical_weight": 0.7, "half_life_days": {"note": 30}}; the others stay as they are.',
      ),
    k: hits,
    project_id: onlyProject.nullish(),
  }),
  output: searchMemory.output,
  isReadOnly: true,
  inferredProject: () => 'narrows',
  audit: 'SEARCH',
  prepare: async ({ query, project_id }, embedding) => (isBlank(query) ? null : embedding.query(query, project_id)),
  retry: retryOf,
  run: (client, input, embedded: EmbeddedText | null, retries) =>
    callForHits(client, 'preview_search', {
      ...input,
      ...vectorParameters('query_vector', embedded),
      retry_for: retries,
    }),
  recalls: ({ hits, nearest }) => hits.length + nearest.length > 0,
  summarize: (answer, reader) => searchMemory.summarize(answer, reader),
});
