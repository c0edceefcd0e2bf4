import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describe('save_memory over MCP', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
  });
  afterAll(() => gateway.close());

  const save = async (caller: string, args: object) =>
    (await gateway.tool(caller, 'save_memory', { project_id: 'l9', ...args })).result;
  const atOnce = (count: number, work: (index: number) => ReturnType<typeof save>) =>
    Promise.all(Array.from({ length: count }, (_, index) => work(index)));

  it('stamps the writer from the API key, whatever the arguments say', async () => {
    const { memory } = await save('C', {
      content: 'forged over MCP',
      caller: 'L',
      creator: 'L-CTO',
      source: 'l9-kernel',
    });
    expect(memory.metadata.creator).toBe('Cursor-IDE');
  });

  it('keeps one row of 20 concurrent saves', async () => {
    const answers = await atOnce(20, (i) =>
      save(i % 2 ? 'C' : 'L', { content: i % 3 ? 'all at once' : ' ALL  at once ' }),
    );
    expect(answers.map(({ status }) => status).sort()).toStrictEqual([
      'inserted',
      ...new Array(19).fill('skipped_dedupe'),
    ]);
    expect(new Set(answers.map(({ memory }) => memory.packet_id)).size).toBe(1);
  });

  it('saves once for 10 concurrent saves with one idempotency key', async () => {
    const answers = await atOnce(10, (i) => save('C', { content: `racing ${i}`, idempotency_key: 'race' }));
    expect(new Set(answers.map(({ memory }) => memory.packet_id)).size).toBe(1);
  });
});
