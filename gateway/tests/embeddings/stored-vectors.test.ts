// The vectors that the embedding job of a gateway stores, with the bundled model.
import { eventually } from '../../../db/tests/support/eventually.ts';
import { startTestGateway, useTestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describe('the embedding job', () => {
  const gateway = useTestGateway();
  const saveAndEmbed = async (caller: string, content: string, args: object = {}) => {
    const id = await gateway.save(caller, content, args);
    await gateway.embedded();
    return id;
  };
  const vectorsOf = (id: string) =>
    gateway.sql(
      'C',
      'select chunk_index, chunk_text, scope, project_id, model, metadata, extensions.vector_dims(vector) as dims from public.memory_embeddings where packet_id = $1 order by chunk_index',
      [id],
    );

  it('stores one vector for a short memory, with the name of its model, padded to 1536 dimensions', async () => {
    const id = await saveAndEmbed('C', 'a short memory');
    expect(await vectorsOf(id)).toStrictEqual([
      {
        chunk_index: 0,
        chunk_text: null,
        scope: 'developer',
        project_id: 'l9',
        model: 'all-MiniLM-L6-v2-int8',
        metadata: {},
        dims: 1536,
      },
    ]);
  });

  it('stores the chunks of a long memory with their offsets', async () => {
    const content = Array.from({ length: 120 }, (_, i) => `Sentence number ${i} speaks of topic ${i * 7}.`).join(' ');
    const id = await saveAndEmbed('C', content);
    const [whole, ...chunks] = await vectorsOf(id);
    expect(whole.chunk_index).toBe(0);
    expect(chunks.length).toBeGreaterThan(1);
    for (const { chunk_text, metadata } of chunks) expect(content.slice(metadata.start, metadata.end)).toBe(chunk_text);
    const [row] = await gateway.sql(
      'C',
      'select chunk_count, is_chunked from public.packet_store where packet_id = $1',
      [id],
    );
    expect(row).toStrictEqual({ chunk_count: chunks.length, is_chunked: true });
    const [{ n }] = await gateway.sql(
      'L',
      "select count(*)::int as n from public.audit_log where row_id = $1 and operation = 'UPDATE'",
      [id],
    );
    expect(n, 'counting chunks is no update by a caller').toBe(0);
  });

  it('stores vectors that GraphQL hides from callers that may not read the memory', async () => {
    await saveAndEmbed('L', 'private vectors', { scope: 'l-private' });
    const query = '{ memoryEmbeddings { nodes { scope } } }';
    expect(JSON.stringify((await gateway.graphql('L', query)).data)).toContain('l-private');
    const { data } = await gateway.graphql('C', query);
    expect(data.memoryEmbeddings.nodes.length).toBeGreaterThan(0);
    expect(JSON.stringify(data)).not.toContain('l-private');
  });

  it('creates contexts that are found by words while the embedder is down', async () => {
    const embed = () => Promise.reject(new Error('down'));
    const other = await startTestGateway({ embedder: { ...standIn, embed } });
    try {
      const add = (content: string) => other.tool('C', 'save_memory', { content, project_id: 'l9', thread_id: 't' });
      await add('A walnut.');
      await add('Yes.');
      await eventually(async () => {
        const { result } = await other.tool('C', 'search_memory', { query: 'walnut', mode: 'lexical' });
        return result.hits.length === 2;
      });
    } finally {
      await other.close();
    }
  });
});
