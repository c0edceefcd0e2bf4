import { named } from '../../../db/tests/support/named.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { different, same } from './judged-pairs.ts';

const SAVE = 'select r.status, (r.memory).packet_id, to_jsonb(r."similar") as similar from public.save_memory';

describe('near-duplicates', () => {
  let gateway: TestGateway;
  let project = 0;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway.close());

  /** A project of its own for each test. */
  const place = () => ({ project_id: `p${++project}` });
  const save = async (caller: string, args: Record<string, unknown>) =>
    (await gateway.sql(caller, `${SAVE}(${named(args)}) r`, Object.values(args)))[0];

  const text = 'The release train leaves every Tuesday at ten from the main branch, after the smoke tests.';
  const variant = 'The release train leaves each Tuesday at ten from the main branch after the smoke tests';

  describe('the pairs judged by hand', () => {
    const judge = async (pairs: [string, string][]) =>
      Promise.all(
        pairs.map(async ([one, other]) => {
          const [mine, theirs] = (await gateway.instance.embedder.embed([one, other])) as [number[], number[]];
          const padded = (vector: number[]) => JSON.stringify([...vector, ...new Array(1536 - vector.length).fill(0)]);
          const p = place();
          const { packet_id } = await save('C', { ...p, content: one });
          await gateway.asWorker(
            `select embeddings.store_embeddings(p.packet_id, p.content_hash, $2, array[$3], '{}', '{}', '{}')
             from public.packet_store p where p.packet_id = $1`,
            [packet_id, gateway.instance.servingModel(), padded(mine)],
          );
          const given = { ...p, content: other, on_similar: 'keep' };
          const byWords = await save('C', given);
          await gateway.sql('C', 'select public.delete_memory($1)', [byWords.packet_id]);
          const byBoth = await save('C', {
            ...given,
            content_vector: padded(theirs),
            model: gateway.instance.servingModel(),
          });
          return { pair: [one, other], words: byWords.similar.length, both: byBoth.similar.length };
        }),
      );

    it('finds all pairs that say the same, by words alone and by meaning', async () =>
      expect((await judge(same)).filter(({ words, both }) => words !== 1 || both !== 1)).toStrictEqual([]));

    it('keeps apart pairs that differ in a number, a name, a negation or an opposite', async () =>
      expect((await judge(different)).filter(({ words, both }) => words !== 0 || both !== 0)).toStrictEqual([]));
  });

  describe('save_memory', () => {
    it('reports near-duplicates over MCP without being asked', async () => {
      const p = place();
      const first = await gateway.tool('C', 'save_memory', { ...p, content: text });
      expect(first.result.similar).toStrictEqual([]);
      const second = await gateway.tool('C', 'save_memory', { ...p, content: variant });
      expect(second.result.status).toBe('inserted');
      expect(second.result.similar[0].packet_id).toBe(first.result.memory.packet_id);
      expect(second.text).toMatch(new RegExp(`Nearly the same: ${first.result.memory.packet_id}`));
      const third = await gateway.tool('C', 'save_memory', { ...p, content: `${variant}?`, on_similar: 'skip' });
      expect(third.result.status).toBe('skipped_dedupe');
      expect(third.result.similar.length).toBe(2);
    });

    it('reports near-duplicates over GraphQL, and merges on request', async () => {
      const p = { projectId: place().project_id };
      const mutation = (fields: string) =>
        `mutation ($input: SaveMemoryInput!) { saveMemory(input: $input) { ${fields} } }`;
      const first = await gateway.graphql('C', mutation('status memory { packetId }'), {
        input: { ...p, content: text },
      });
      const fields = 'status similar { packetId similarity memory { content } } memory { packetId tags }';
      const second = await gateway.graphql('C', mutation(fields), { input: { ...p, content: variant } });
      expect(second.data.saveMemory.status).toBe('inserted');
      expect(second.data.saveMemory.similar[0].memory).toStrictEqual({ content: text });
      const third = await gateway.graphql('C', mutation(fields), {
        input: { ...p, content: `${text} Yes.`, tags: ['t'], onSimilar: 'merge' },
      });
      expect(third.data.saveMemory.status).toBe('updated');
      expect(third.data.saveMemory.memory).toStrictEqual({
        packetId: first.data.saveMemory.memory.packetId,
        tags: ['t'],
      });
      const refused = await gateway.graphql('C', mutation(fields), { input: { ...p, content: 'x', onSimilar: 'no' } });
      expect(refused.errors).toBeTruthy();
    });
  });
});
