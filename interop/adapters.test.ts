// The adapters of the TypeScript client, each used by the library that it is for; what a model would say is written down.
import Anthropic from '@anthropic-ai/sdk';
import { L9Memory } from '@l9-memory/client';
import { tools } from '@l9-memory/client/ai-sdk';
import { memoryTool, memoryToolHandlers } from '@l9-memory/client/anthropic';
import { L9Store } from '@l9-memory/client/langgraph';
import { L9Session } from '@l9-memory/client/openai-agents';
import { FakeListChatModel } from '@langchain/core/utils/testing';
import {
  Annotation,
  type BaseStore,
  END,
  InMemoryStore,
  type Item,
  type LangGraphRunnableConfig,
  START,
  StateGraph,
} from '@langchain/langgraph';
import {
  Agent,
  type AgentInputItem,
  tool as agentTool,
  type Model,
  type ModelRequest,
  Runner,
  Usage,
} from '@openai/agents';
import { generateText, isStepCount } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { collect } from '../clients/typescript/tests/collect.ts';
import { eventually } from '../db/tests/support/eventually.ts';
import { describeOnEmbedded } from '../db/tests/support/on-engine.ts';
import { useServer } from './server.ts';

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

describeOnEmbedded('an adapter of the TypeScript client', () => {
  const server = useServer();
  const memoryOf = (projectId: string) =>
    new L9Memory({ url: server.url, key: server.headers.authorization.replace('Bearer ', ''), projectId });

  it('gives a model of the AI SDK tools that save, search, correct, rate and delete', async () => {
    const memory = memoryOf('ai-sdk');
    type Call = [name: string, input: object];
    /** One step a turn: what a tool answered last is known when the next call is made. */
    const play = async (script: ((answer: never) => Call)[]) => {
      const left = [...script];
      const model = new MockLanguageModelV4({
        doGenerate: async ({ prompt }) => {
          const last = prompt.at(-1)!;
          const [part] = last.role === 'tool' ? last.content : [];
          const answer = part?.type === 'tool-result' && 'value' in part.output ? part.output.value : null;
          const next = left.shift()?.(answer as never);
          return next
            ? {
                content: [
                  {
                    type: 'tool-call',
                    toolCallId: `call-${left.length}`,
                    toolName: next[0],
                    input: JSON.stringify(next[1]),
                  },
                ],
                finishReason: { unified: 'tool-calls', raw: undefined },
                usage,
                warnings: [],
              }
            : {
                content: [{ type: 'text', text: JSON.stringify(answer) }],
                finishReason: { unified: 'stop', raw: undefined },
                usage,
                warnings: [],
              };
        },
      });
      const { text, steps } = await generateText({
        model,
        tools: tools(memory),
        prompt: 'Go on.',
        stopWhen: isStepCount(9),
      });
      return { last: JSON.parse(text), steps };
    };
    let id = '';
    const { last, steps } = await play([
      () => ['save_memory', { content: 'Ann prefers tea.', kind: 'preference', tags: ['ann'] }],
      ({ packet_id }: { packet_id: string }) => {
        id = packet_id;
        return ['update_memory', { packet_id, content: 'Ann prefers green tea.' }];
      },
      () => ['search_memory', { query: 'green tea', kind: 'preference' }],
      ([hit]: { access_id: string }[]) => ['record_feedback', { access_id: hit!.access_id, was_useful: true }],
      () => ['search_memory', { query: 'green tea' }],
    ]);
    expect(last).toMatchObject([{ packet_id: id, content: 'Ann prefers green tea.', written_by: 'Cursor-IDE' }]);
    expect(steps.flatMap(({ toolResults }) => toolResults.map(({ toolName }) => toolName))).toHaveLength(5);
    expect((await memory.get(id)).tags).toStrictEqual(['ann']);
    const removal = await play([
      () => ['delete_memory', { packet_id: id }],
      () => ['delete_memory', { packet_id: id }],
    ]);
    expect(removal.last).toMatch(/does not exist, or is not yours/);
  });

  it('keeps the session of an agent of the OpenAI Agents SDK', async () => {
    const memory = memoryOf('openai-agents');
    const requests: ModelRequest[] = [];
    const outputs = [
      [{ type: 'function_call', callId: 'c1', name: 'add', arguments: '{"a":2,"b":3}', status: 'completed' }],
      [says('It is five.')],
      [says('You asked for the sum of two and three.')],
    ];
    const model: Model = {
      async getResponse(request) {
        requests.push(request);
        return { usage: new Usage(), output: outputs.shift() as never };
      },
      // biome-ignore lint/correctness/useYield: the test does not stream
      async *getStreamedResponse() {
        throw new Error('not streamed');
      },
    };
    const add = agentTool({
      name: 'add',
      description: 'Adds.',
      parameters: {
        type: 'object',
        properties: { a: { type: 'number' }, b: { type: 'number' } },
        required: ['a', 'b'],
        additionalProperties: false,
      },
      strict: true,
      execute: (input) => String(Object.values(input as Record<string, number>).reduce((sum, one) => sum + one, 0)),
    });
    const agent = new Agent({ name: 'Adder', model, tools: [add] });
    const runner = new Runner({ tracingDisabled: true });
    const session = new L9Session(memory);
    const sessionId = await session.getSessionId();
    const first = await runner.run(agent, 'What is 2 + 3?', { session });
    expect(first.finalOutput).toBe('It is five.');
    const again = new L9Session(memory, { sessionId });
    await runner.run(agent, 'What did I ask?', { session: again });
    const kinds = (requests[2]!.input as AgentInputItem[]).map((item) => ('role' in item ? item.role : item.type));
    expect(kinds).toStrictEqual(['user', 'function_call', 'function_call_result', 'assistant', 'user']);

    const items = await again.getItems();
    expect(items).toHaveLength(6);
    expect(await again.getItems(2)).toStrictEqual(items.slice(-2));
    expect(await again.getItems(0)).toStrictEqual([]);
    // A search waits at most 300 ms for the vectors of new memories, and a busy machine may take longer to make them.
    await eventually(async () => {
      const { hits } = await memory.search({ query: 'sum of two and three', threadId: sessionId });
      return hits[0]?.kind === 'message' && hits[0].speaker === 'assistant';
    });

    const same = { role: 'user', content: 'Yes.' } as AgentInputItem;
    await again.addItems([same, same]);
    expect(await again.popItem()).toStrictEqual(same);
    expect(await again.getItems()).toStrictEqual([...items, same]);
    await expect(
      again.addItems([same, { role: 'user', content: 'The token is ghp_16C7e42F292c6912E7710c838347Ae178B4a.' }]),
    ).rejects.toMatchObject({ code: 'SECRET_FOUND' });
    expect(await again.getItems()).toHaveLength(7);
    await new L9Session(memory).addItems([same]);
    await again.clearSession();
    expect(await session.getItems()).toStrictEqual([]);
    expect(await again.popItem()).toBeUndefined();
    const left = memory.list({ filter: { kind: { equalTo: 'message' } } });
    expect(await collect(left), 'those of another session').toHaveLength(1);
  });

  it('is a store of LangGraph, which nodes of a graph remember in across threads', async () => {
    const store = new L9Store(memoryOf('langgraph'));
    const model = new FakeListChatModel({ responses: ['Noted.', 'You like tea.'] });
    const State = Annotation.Root({ text: Annotation<string>, reply: Annotation<string> });
    const graph = new StateGraph(State)
      .addNode('answer', async ({ text }, { store, configurable }: LangGraphRunnableConfig) => {
        const namespace = ['users', configurable!.user as string];
        const known = await store!.search(namespace, { query: text });
        await store!.put(namespace, text, { said: text });
        const { content } = await model.invoke([known.map(({ value }) => value.said).join(), text].join('\n'));
        return { reply: `${content} (knew ${known.length})` };
      })
      .addEdge(START, 'answer')
      .addEdge('answer', END)
      .compile({ store });
    const say = async (text: string, user: string) =>
      (await graph.invoke({ text, reply: '' }, { configurable: { user } })).reply;
    expect(await say('I like tea', 'ann')).toBe('Noted. (knew 0)');
    expect(await say('Do I like tea?', 'ann')).toBe('You like tea. (knew 1)');
    expect(await say('Do I like tea?', 'ann-marie')).toMatch(/knew 0/);
  });

  it('answers as the own store of LangGraph does, operation by operation', async () => {
    // LangGraph ships tests for checkpointers alone, so its store in memory says what is right.
    const stores: [BaseStore, BaseStore] = [new InMemoryStore(), new L9Store(memoryOf('langgraph-reference'))];
    // Times and scores differ, and no order of items is promised.
    const plain = (answer: unknown) => {
      const differs = /^(createdAt|updatedAt|score)$/;
      const text = JSON.stringify(answer ?? null, (name, value) => (differs.test(name) ? undefined : value));
      const copy = JSON.parse(text);
      const isItems = Array.isArray(copy) && copy.every((item) => item && !Array.isArray(item) && 'key' in item);
      const place = ({ namespace, key }: Item) => JSON.stringify([namespace, key]);
      return isItems ? copy.sort((a: Item, b: Item) => (place(a) < place(b) ? -1 : 1)) : copy;
    };
    const bothAnswer = async (ask: (store: BaseStore) => Promise<unknown>) => {
      const [expected, answer] = [await ask(stores[0]), await ask(stores[1])];
      expect(plain(answer)).toStrictEqual(plain(expected));
      return plain(answer);
    };
    const docs = { color: 'red', size: 3, nested: { deep: [1, 'two', null] }, text: '', json: '{"a": [1]}', list: [] };
    await bothAnswer((store) => store.put(['acme'], 'a', { ...docs }));
    await bothAnswer((store) => store.put(['acme', 'docs'], 'a', { ...docs, size: 5 }));
    await bothAnswer((store) => store.put(['acme-corp'], 'a', { ...docs }));
    await bothAnswer((store) => store.put(['acme', 'Docs'], 'A', { ...docs, color: 'Red' }));
    await bothAnswer((store) => store.put(['acme', 'a/b'], '100% #1', { color: 'blue', size: 10 }));
    await bothAnswer((store) => store.put(['acme', '7'], '42', { color: '42', size: 12 }));
    await bothAnswer((store) => store.put(['acme', 'a', 'b'], '100% #1', { color: 'blue', size: 11 }, false));
    for (const [namespace, key] of [
      [['acme'], 'a'],
      [['acme', 'docs'], 'a'],
      [['acme', 'docs'], 'A'],
      [['acme', 'a/b'], '100% #1'],
      [['nobody'], 'a'],
    ] as const)
      await bothAnswer((store) => store.get([...namespace], key));
    expect(await bothAnswer((store) => store.search(['acme']))).toHaveLength(6);
    expect(await bothAnswer((store) => store.search(['acm']))).toStrictEqual([]);
    await bothAnswer((store) => store.search(['acme', 'docs']));
    await bothAnswer((store) => store.search(['acme'], { limit: 2, offset: 1 }));
    for (const filter of [
      { color: 'red' },
      { color: { $ne: 'red' } },
      { size: { $gt: 3, $lte: 10 } },
      { size: 3, color: 'red' },
      { color: { $eq: 'blue' }, size: { $gte: 11 } },
      { missing: 'x' },
    ])
      await bothAnswer((store) => store.search(['acme'], { filter }));
    await bothAnswer((store) => store.put(['acme'], 'a', { color: 'green' }));
    await bothAnswer((store) => store.get(['acme'], 'a'));
    for (const options of [
      {},
      { prefix: ['acme'] },
      { suffix: ['docs'] },
      { prefix: ['acme', '*'] },
      { maxDepth: 1 },
      { limit: 2, offset: 1 },
    ])
      await bothAnswer((store) => store.listNamespaces(options));
    await bothAnswer((store) =>
      store.batch([
        { namespace: ['acme'], key: 'a', value: { color: 'first' } },
        { namespace: ['acme'], key: 'a', value: { color: 'last' } },
        { namespace: ['acme'], key: 'new', value: { color: 'new' } },
        { namespacePrefix: ['acme'], filter: { color: 'last' } },
      ]),
    );
    await bothAnswer((store) => store.get(['acme'], 'a'));
    await bothAnswer((store) => store.get(['acme'], 'new'));
    await bothAnswer((store) => store.delete(['acme'], 'a'));
    await bothAnswer((store) => store.delete(['acme'], 'a'));
    await bothAnswer((store) => store.search(['acme']));
    await expect(stores[1].put([], 'a', {})).rejects.toThrow(/Namespace cannot be empty/);

    const [found] = await stores[1].search(['acme'], { query: 'blue', filter: { size: 10 } });
    expect(found).toMatchObject({ namespace: ['acme', 'a/b'], key: '100% #1', score: expect.any(Number) });
    expect(found!.createdAt).toBeInstanceOf(Date);
  });

  it('is the memory tool of the SDK of Anthropic, run by its tool runner', async () => {
    const memory = memoryOf('anthropic');
    const calls = [
      { command: 'view', path: '/memories' },
      { command: 'create', path: '/memories/notes/tea.md', file_text: 'Ann likes tea.\nBen does not.\n' },
      { command: 'str_replace', path: '/memories/notes/tea.md', old_str: 'likes tea', new_str: 'likes $& green tea' },
      { command: 'insert', path: '/memories/notes/tea.md', insert_line: 0, insert_text: '# Drinks\n' },
      { command: 'view', path: '/memories/notes/tea.md', view_range: [1, 2] },
      { command: 'create', path: '/memories/notes/tea.md', file_text: 'again' },
      { command: 'rename', old_path: '/memories/notes', new_path: '/memories/kitchen' },
      { command: 'view', path: '/memories' },
      { command: 'view', path: '/memories/../etc/passwd' },
    ];
    const left = [...calls];
    const asked: {
      messages: { role: string; content: { content: string; is_error?: boolean }[] }[];
      tools: object[];
    }[] = [];
    const anthropic = new Anthropic({
      apiKey: 'none',
      fetch: async (_url, init) => {
        asked.push(JSON.parse(String(init!.body)));
        const input = left.shift();
        const content = input
          ? [{ type: 'tool_use', id: `t${left.length}`, name: 'memory', input }]
          : [{ type: 'text', text: 'Done.' }];
        const message = { id: 'm', type: 'message', role: 'assistant', model: 'scripted', content };
        const rest = { stop_reason: input ? 'tool_use' : 'end_turn', stop_sequence: null, usage: {} };
        return Response.json({ ...message, ...rest });
      },
    });
    const runner = anthropic.beta.messages.toolRunner({
      model: 'scripted',
      max_tokens: 100,
      messages: [{ role: 'user', content: 'Remember.' }],
      tools: [memoryTool(memory)],
    });
    expect((await runner).content).toMatchObject([{ text: 'Done.' }]);
    expect(asked[0]!.tools).toMatchObject([{ type: 'memory_20250818', name: 'memory' }]);
    const answers = asked.slice(1).map(({ messages }) => messages.at(-1)!.content[0]!);
    expect(answers.map(({ content }) => content)).toStrictEqual([
      expect.stringMatching(/2 levels deep in \/memories, .*:\n0B\t\/memories$/),
      'File created successfully at: /memories/notes/tea.md',
      expect.stringContaining('     1\tAnn likes $& green tea.\n     2\tBen does not.'),
      'The file /memories/notes/tea.md has been edited.',
      expect.stringMatching(/:\n {5}1\t# Drinks\n {5}2\tAnn likes \$& green tea\.$/),
      expect.stringContaining('already exists'),
      'Successfully renamed /memories/notes to /memories/kitchen',
      expect.stringMatching(/:\n47B\t\/memories\n47B\t\/memories\/kitchen\/\n47B\t\/memories\/kitchen\/tea\.md$/),
      expect.stringContaining('Path must start with /memories'),
    ]);
    expect(answers.map(({ is_error }) => is_error === true)).toStrictEqual(
      calls.map(({ command, path = '' }, place) => path.includes('..') || (command === 'create' && place > 1)),
    );

    const [file] = await collect(memory.list({ filter: { kind: { equalTo: 'document' } } }));
    expect(file).toMatchObject({ title: 'tea.md', envelope: { source_url: '/memories/kitchen/tea.md' } });
    expect((await memory.search('green tea')).hits[0]).toMatchObject({ packetId: file!.packetId });
    const files = memoryToolHandlers(memory);
    const create = (path: string) => files.create({ command: 'create', path, file_text: path });
    await Promise.all(['/memories/a', '/memories/a-b/c', '/memories/a.md', '/memories/.hidden'].map(create));
    await expect(create('/memories/a-b')).rejects.toThrow('is a directory');
    await files.delete({ command: 'delete', path: '/memories/a' });
    expect(await files.view({ command: 'view', path: '/memories/' })).not.toContain('.hidden');
    expect(await files.view({ command: 'view', path: '/memories/a-b/c' })).toContain('\t/memories/a-b/c');
    await files.delete({ command: 'delete', path: '/memories/a-b' });
    await expect(files.view({ command: 'view', path: '/memories/a-b' })).rejects.toThrow('does not exist');
    await expect(files.delete({ command: 'delete', path: '/memories' })).rejects.toThrow('Cannot delete');
  });
});

const says = (text: string) => ({
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text }],
});
