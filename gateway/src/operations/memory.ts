// What callers can do with memories.
import type { z } from 'zod';
import { toVectorLiteral } from '../embeddings/index.ts';
import {
  cleanupInput,
  cleanupOutput,
  deleteOutput,
  feedbackInput,
  feedbackOutput,
  getOutput,
  packetIdInput,
  saveInput,
  saveOutput,
  searchInput,
  searchOutput,
  statsInput,
  statsOutput,
  updateInput,
  updateOutput,
} from './fields.ts';
import { call, define, type Embed, type Operation } from './operation.ts';

const saved = 'r.status, memories.memory_json(r.memory) as memory';
type Embedded = Awaited<ReturnType<Embed>>;
const vectorOf = (embedded: Embedded) => embedded && toVectorLiteral(embedded.vector);
const memories = (count: number) => (count === 1 ? '1 memory' : `${count} memories`);

const saveMemory = define({
  name: 'save_memory',
  graphqlName: 'saveMemory',
  title: 'Save a memory',
  description:
    'Remember something for yourself and for others who may read its scope: a decision, a fact, how something works, what went wrong. ' +
    'Saving what is already known changes nothing and says so (skipped_dedupe); memories that say nearly the same are reported, ' +
    'or with on_similar skipped for or merged into.',
  input: saveInput,
  output: saveOutput,
  isReadOnly: false,
  isDestructive: false,
  isIdempotent: true,
  audit: 'INSERT',
  enqueuesEmbeddings: true,
  prepare: async ({ content, on_similar }, embedding) => (on_similar === 'keep' ? null : embedding.content(content)),
  run: (client, { on_similar, ...input }, prepared) => {
    const embedded = prepared as Embedded;
    return call<z.output<typeof saveOutput>>(client, `${saved}, to_jsonb(r."similar") as similar`, 'save_memory', {
      ...input,
      // Whoever keeps both is told once the memory is saved: nothing waits for it.
      ...(on_similar !== 'keep' && { on_similar, content_vector: vectorOf(embedded), model: embedded?.model }),
    });
  },
  complete: (output) => {
    if (output.similar !== null) return null;
    const { packet_id, content } = output.memory;
    return {
      prepare: (embedding) => embedding.content(content),
      run: async (client, prepared) => {
        const embedded = prepared as Embedded;
        const { rows } = await client.query('select to_jsonb(duplicates.similar_to_memory($1, $2, $3)) as similar', [
          packet_id,
          vectorOf(embedded),
          embedded?.model,
        ]);
        return { ...output, similar: rows[0].similar };
      },
    };
  },
  summarize: ({ status, memory, similar }) => {
    const others = (similar ?? []).filter(({ packet_id }) => packet_id !== memory.packet_id);
    const also = others.length
      ? ` Nearly the same: ${others.map((it) => `${it.packet_id} (${it.similarity.toFixed(2)})`).join(', ')}.`
      : '';
    const where = `in scope ${memory.scope}${memory.project_id ? `, project ${memory.project_id}` : ''}`;
    const what = {
      skipped_dedupe: `Already known: ${memory.packet_id} says it ${where}. Nothing was saved.`,
      updated: `Merged into ${memory.packet_id} ${where}.`,
      inserted: `Saved as ${memory.packet_id} ${where}.`,
    };
    return `${what[status]}${also}`;
  },
});

const searchMemory = define({
  name: 'search_memory',
  graphqlName: 'searchMemory',
  title: 'Search memories',
  description:
    'Find memories by words, by meaning, or both, or by the graph of entities, best first, among those you may read; or others like one (packet_id); or the newest that match filters. ' +
    'The answer says which scopes were searched, so that an empty one is no riddle. With max_tokens it fits your context.',
  input: searchInput,
  output: searchOutput,
  isReadOnly: true,
  isDestructive: false,
  isIdempotent: true,
  audit: 'SEARCH',
  enqueuesEmbeddings: false,
  prepare: async (input, embedding) =>
    ['lexical', 'graph'].includes(input.mode) || !input.query || !/\S/.test(input.query)
      ? null
      : embedding.query(input.query),
  isOvertaken: (prepared, result) => {
    if (prepared === null) return false;
    if ('output' in result) return result.output.searched.vectors === 'unavailable';
    const { code, column } = result.error as { code?: string; column?: string };
    return code === 'L9VAL' && column === 'mode';
  },
  run: (client, input, prepared) => {
    const embedded = prepared as Embedded;
    return call<z.output<typeof searchOutput>>(client, 'to_jsonb(r.hits) as hits, r.searched', 'search_memory', {
      ...input,
      query_vector: vectorOf(embedded),
      model: embedded?.model,
    });
  },
  summarize: ({ hits, searched }) => {
    const where = `searched ${searched.scopes.join(', ') || 'no scope'} by ${searched.mode}`;
    const cut = searched.cut as { previews: number; left_out: number } | null;
    const notices = [
      searched.notice,
      cut && cut.previews + cut.left_out > 0
        ? `Cut to fit: ${cut.previews} as previews (get_memory gives the whole), ${cut.left_out} left out.`
        : null,
    ];
    const notice = notices.map((one) => (one ? ` ${one}` : '')).join('');
    if (hits.length === 0) return `Nothing found: ${where}.${notice}`;
    const lines = hits.map((hit, index) => `${index + 1}. [${hit.packet_id}] ${hit.snippet.replace(/\s+/g, ' ')}`);
    return `${memories(hits.length)}, ${where}.${notice}\n${lines.join('\n')}`;
  },
});

const getMemory = define({
  name: 'get_memory',
  graphqlName: 'getMemory',
  title: 'Get a memory',
  description: 'Read one memory, whole, by its id.',
  input: packetIdInput,
  output: getOutput,
  isReadOnly: true,
  isDestructive: false,
  isIdempotent: true,
  audit: 'READ',
  enqueuesEmbeddings: false,
  run: (client, input) =>
    call<z.output<typeof getOutput>>(client, 'memories.memory_json(r) as memory', 'get_memory', input),
  summarize: ({ memory }) => memory.content,
});

const recordFeedback = define({
  name: 'record_feedback',
  graphqlName: 'recordFeedback',
  title: 'Say whether a memory helped',
  description:
    'After using a search hit, say whether it was useful: what helped is found sooner, by you and others. The last word on an access counts.',
  input: feedbackInput,
  output: feedbackOutput,
  isReadOnly: false,
  isDestructive: false,
  isIdempotent: true,
  audit: 'INSERT',
  enqueuesEmbeddings: false,
  run: (client, input) =>
    call<z.output<typeof feedbackOutput>>(
      client,
      'r.access_id, r.packet_id, r.was_useful, r.reason, to_jsonb(r.given_at) as given_at',
      'record_feedback',
      input,
    ),
  summarize: ({ packet_id, was_useful }) => `Noted: ${packet_id} was ${was_useful ? 'useful' : 'of no use'}.`,
});

const updateMemory = define({
  name: 'update_memory',
  graphqlName: 'updateMemory',
  title: 'Update a memory',
  description:
    'Change what you give of a memory and leave the rest. Only what you wrote yourself can be changed, unless you are an admin.',
  input: updateInput,
  output: updateOutput,
  isReadOnly: false,
  isDestructive: true,
  isIdempotent: true,
  audit: 'UPDATE',
  enqueuesEmbeddings: true,
  run: (client, input) => call<z.output<typeof updateOutput>>(client, saved, 'update_memory', input),
  summarize: ({ memory }) => `Updated ${memory.packet_id}.`,
});

const deleteMemory = define({
  name: 'delete_memory',
  graphqlName: 'deleteMemory',
  title: 'Delete a memory',
  description:
    'Delete a memory and all that was derived from it. Only what you wrote yourself can be deleted, unless you are an admin.',
  input: packetIdInput,
  output: deleteOutput,
  isReadOnly: false,
  isDestructive: true,
  isIdempotent: false,
  audit: 'DELETE',
  enqueuesEmbeddings: true, // of what came after it in its thread
  run: async (client, input) => {
    const { packet_id } = await call<{ packet_id: string }>(client, 'r as packet_id', 'delete_memory', input);
    return { status: 'deleted', packet_id } as const;
  },
  summarize: ({ packet_id }) => `Deleted ${packet_id}.`,
});

const getMemoryStats = define({
  name: 'get_memory_stats',
  graphqlName: 'memoryStats',
  title: 'Count memories',
  description:
    'How many memories you may read, by kind, scope, project and creator, and how many still wait to be found by meaning.',
  input: statsInput,
  output: statsOutput,
  isReadOnly: true,
  isDestructive: false,
  isIdempotent: true,
  audit: 'STATS',
  enqueuesEmbeddings: false,
  run: async (client, input) => {
    const { stats } = await call<{ stats: z.output<typeof statsOutput> }>(
      client,
      'to_jsonb(r) as stats',
      'get_memory_stats',
      input,
    );
    return stats;
  },
  summarize: ({ total, by_scope }) =>
    `${memories(total)}${
      total
        ? `: ${Object.entries(by_scope)
            .map(([scope, n]) => `${n} in ${scope}`)
            .join(', ')}`
        : ''
    }.`,
});

const deleteExpiredMemories = define({
  name: 'delete_expired_memories',
  graphqlName: 'deleteExpiredMemories',
  title: 'Clean up expired memories',
  description: 'Delete memories whose ttl has passed. Only for callers that may clean up, such as L.',
  input: cleanupInput,
  output: cleanupOutput,
  isReadOnly: false,
  isDestructive: true,
  isIdempotent: true,
  audit: 'CLEANUP',
  enqueuesEmbeddings: true,
  run: async (client, input) => {
    const { deleted } = await call<{ deleted: string }>(client, 'r as deleted', 'delete_expired_memories', input);
    return { deleted: Number(deleted) };
  },
  summarize: ({ deleted }) => `${deleted === 1 ? '1 expired memory was' : `${deleted} expired memories were`} deleted.`,
});

export const memoryOperations: readonly Operation[] = [
  saveMemory,
  searchMemory,
  getMemory,
  recordFeedback,
  updateMemory,
  deleteMemory,
  getMemoryStats,
  deleteExpiredMemories,
];
