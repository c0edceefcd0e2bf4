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

  it('treats an empty project as none', async () => {
    const { memory, status } = await save('C', { content: 'for all projects', scope: 'global', project_id: '' });
    expect([status, memory.project_id]).toStrictEqual(['inserted', null]);
    expect((await save('C', { content: 'for all projects', scope: 'global', project_id: '' })).status).toBe(
      'skipped_dedupe',
    );
    const { hits } = await gateway.call('C', 'search_memory', { query: 'for all projects', project_id: '' });
    expect(hits[0].packet_id).toBe(memory.packet_id);
    const { text } = await gateway.tool('C', 'save_memory', { content: 'of a project', project_id: '' });
    expect(text).toMatch(/project default/);
    const [{ saved }] = await gateway.sql(
      'C',
      "select ((public.save_memory('in SQL', scope => 'global', project_id => '')).memory).project_id is null as saved",
    );
    expect(saved).toBe(true);
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

  it('saves once for 10 concurrent saves with one idempotency key, and refuses another save with it', async () => {
    const answers = await atOnce(10, () => save('C', { content: 'racing', idempotency_key: 'race' }));
    expect(new Set(answers.map(({ memory }) => memory.packet_id)).size).toBe(1);
    const other = { content: 'another text', project_id: 'l9', idempotency_key: 'race' };
    const { isError, text } = await gateway.tool('C', 'save_memory', other);
    expect([isError, text]).toStrictEqual([
      true,
      expect.stringMatching(/^INVALID_INPUT \(L9VAL\): idempotency_key: was used/),
    ]);
    const saved = await gateway.sql('C', "select from public.packet_store where content = 'another text'");
    expect(saved).toHaveLength(0);
  });

  it('refuses another save with a used idempotency key over GraphQL and in a batch', async () => {
    const query = `mutation ($content: String!) {
      saveMemory(input: { content: $content, projectId: "l9", idempotencyKey: "of GraphQL" }) { memory { packetId } }
    }`;
    const first = await gateway.query('C', query, { content: 'said once' });
    expect(await gateway.query('C', query, { content: 'said once' })).toStrictEqual(first);
    const { errors } = await gateway.graphql('C', query, { content: 'said otherwise' });
    expect(errors![0]!.extensions).toMatchObject({ sqlstate: 'L9VAL', field: 'idempotencyKey' });

    const batch = ['in a batch', 'in a batch', 'not that batch'].map((content, id) => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name: 'save_memory', arguments: { content, project_id: 'l9', idempotency_key: 'of a batch' } },
    }));
    const response = await fetch(`${gateway.instance.url}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'x-api-key': gateway.apiKey('C'),
      },
      body: JSON.stringify(batch),
    });
    const answers = (await response.json()) as { result: { isError?: boolean; content: { text: string }[] } }[];
    const texts = answers.map(({ result }) => result.content[0]!.text);
    // A batch is done in any order, so any of its two texts may win.
    expect(texts.some((text) => text.startsWith('INVALID_INPUT (L9VAL): idempotency_key: was used'))).toBe(true);
    const saved = await gateway.sql(
      'C',
      "select from public.packet_store where content in ('in a batch', 'not that batch')",
    );
    expect(saved).toHaveLength(1);
  });
});
