// A save answers before its text has a vector, the vector comes before the backlog, and the writer's next search waits for it.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { eventually } from '../../../db/tests/support/eventually.ts';
import type { Embedder } from '../../src/embeddings/index.ts';
import { createProcessHome } from '../home/processes.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

/** Texts about cats are near to each other, whatever words they use. */
const vectorOf = (text: string) => (/cat|feline|kitten/i.test(text) ? [1, 0, 0] : [0, 1, 0]);

describe('a save', () => {
  let gateway: TestGateway;
  /** What the embedder was asked for, and what it does before it answers. */
  let asked: string[] = [];
  let wait: (text: string) => Promise<unknown> = async () => {};
  beforeAll(async () => {
    const embedder: Embedder = {
      model: 'stand-in',
      dimensions: 3,
      chunk: async () => [],
      embed: async (texts) => {
        asked.push(...texts);
        for (const text of texts) await wait(text);
        return texts.map(vectorOf);
      },
      close: async () => {},
    };
    gateway = await startTestGateway({ embedder });
  });
  beforeEach(() => {
    asked = [];
    wait = async () => {};
  });
  afterAll(() => gateway.close());

  const idsOf = async (caller: string, args: object): Promise<string[]> =>
    (await gateway.call(caller, 'search_memory', { mode: 'semantic', min_relevance: 0, ...args })).hits.map(
      ({ packet_id }: { packet_id: string }) => packet_id,
    );
  const hold = (held: (text: string) => boolean) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    wait = (text) => (held(text) ? promise : Promise.resolve());
    return resolve;
  };

  it('answers over MCP and GraphQL while the embedder does not', async () => {
    const release = hold(() => true);
    try {
      const { memory, similar } = await gateway.call('C', 'save_memory', {
        content: 'The felines sleep.',
        project_id: 'l9',
      });
      expect(similar, 'what is similar is looked up by words').toStrictEqual([]);
      const { saveMemory } = await gateway.query(
        'C',
        'mutation { saveMemory(input: { content: "The kittens play.", projectId: "l9" }) { status memory { packetId } } }',
      );
      expect(saveMemory.status).toBe('inserted');
      const { stored } = await gateway.call('C', 'memory_store', {
        items: [{ data: { content: 'The cats eat.' }, project_id: 'l9' }],
      });
      for (const id of [memory.packet_id, saveMemory.memory.packetId, stored[0].packet_id]) {
        const { rows } = await gateway.instance.database.workerPool.query(
          'select from embeddings.pending_embeddings where packet_id = $1',
          [id],
        );
        expect(rows, 'it still waits for its vector').toHaveLength(1);
      }
    } finally {
      release();
    }
    await gateway.embedded();
  });

  it('is found by meaning by the next search of its writer, which waits for the vector', async () => {
    for (const [change, args] of [
      [() => gateway.save('C', 'Felines purr.'), { query: 'what cats do' }],
      [
        async () =>
          (
            await gateway.call('C', 'memory_store', {
              items: [{ data: { content: 'Kittens climb.' }, project_id: 'l9' }],
            })
          ).stored[0].packet_id,
        { query: 'cats at height' },
      ],
    ] as const) {
      wait = () => sleep(60);
      const id = await change();
      expect(await idsOf('C', args)).toContain(id);
    }
    const dog = await gateway.save('C', 'A dog.');
    await gateway.embedded();
    await gateway.call('C', 'update_memory', { packet_id: dog, content: 'A feline that was taken for a dog.' });
    expect(await idsOf('C', { query: 'cats' }), 'an update too').toContain(dog);
    const like = await gateway.save('C', 'Felines again.');
    expect((await idsOf('C', { packet_id: like })).length, 'nor does more like this miss it').toBeGreaterThan(0);
  });

  it('holds up no search for long if the embedder does not answer, nor a later one again', async () => {
    const release = hold((text) => text.includes('never'));
    try {
      await gateway.save('C', 'Felines that are never embedded.');
      const started = performance.now();
      await idsOf('C', { query: 'cats of all sorts' });
      const first = performance.now() - started;
      expect(first).toBeGreaterThan(250);
      await idsOf('C', { query: 'cats of one sort' });
      expect(performance.now() - started - first, 'the next one does not wait').toBeLessThan(first);
    } finally {
      release();
    }
    await gateway.embedded();
  });

  it('gets its vector before the backlog', async () => {
    const release = hold((text) => text.startsWith('Backlog'));
    await gateway.call('C', 'memory_store', {
      items: Array.from({ length: 60 }, (_, n) => ({ data: { content: `Backlog ${n}.` }, project_id: 'l9' })),
    });
    await eventually(async () => asked.some((text) => text.startsWith('Backlog')));
    wait = (text) => (text.startsWith('Backlog') ? sleep(30) : Promise.resolve());
    release();
    await gateway.save('C', 'Felines in a hurry.');
    await eventually(async () => asked.includes('Felines in a hurry.'));
    const before = asked.slice(0, asked.indexOf('Felines in a hurry.'));
    expect(before.filter((text) => text.startsWith('Backlog')).length).toBeLessThan(40);
    await gateway.embedded();
  });

  it('compares by meaning where the answer is asked for: similar over GraphQL, skip and merge', async () => {
    const save = (fields: string, input: object) =>
      gateway.query('C', `mutation ($input: SaveMemoryInput!) { saveMemory(input: $input) { ${fields} } }`, { input });
    await save('status similar { packetId }', { content: 'One that asks.', projectId: 'l9' });
    expect(asked).toContain('One that asks.');
    const release = hold(() => true);
    const skipping = gateway.call('C', 'save_memory', {
      ...{ content: 'One that skips.', project_id: 'l9', on_similar: 'skip' },
    });
    await eventually(async () => asked.includes('One that skips.'));
    release();
    expect((await skipping).status).toBe('inserted');
    await gateway.embedded();
  });
});

describe('a save that was answered', () => {
  it('gets its vector after the process was killed before it had one', async () => {
    const home = await createProcessHome();
    try {
      const first = await home.serve();
      const save = async (url: string, content: string) => {
        const response = await fetch(`${url}/graphql`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: `Bearer ${home.key('C')}` },
          body: JSON.stringify({
            query: 'mutation ($input: SaveMemoryInput!) { saveMemory(input: $input) { status } }',
            variables: { input: { content, projectId: 'l9' } },
          }),
        });
        return ((await response.json()) as { data: { saveMemory: { status: string } } }).data.saveMemory.status;
      };
      for (let n = 0; n < 5; n++) expect(await save(first.url, `Saved before the end ${n}.`)).toBe('inserted');
      process.kill(first.pid, 'SIGKILL');
      await first.exit;
      if (home.test.superuserUrl) {
        // On a server the claims of the killed process last until their lease ends, some minutes later.
        const client = new pg.Client({ connectionString: home.test.superuserUrl });
        await client.connect();
        await client.query('update embeddings.pending_embeddings set leased_until = now()');
        await client.end();
      }
      const again = await startTestGateway({ home: home.test });
      try {
        const rows = await again.asWorker(
          "select p.packet_id from public.packet_store p where p.content like 'Saved before the end%'",
        );
        expect(rows).toHaveLength(5);
        await again.embedded();
        const [{ count }] = await again.asWorker(
          "select count(distinct packet_id)::integer from public.memory_embeddings where embedding_type = 'content'",
        );
        expect(count).toBe(5);
      } finally {
        await again.instance.close();
      }
    } finally {
      await home.close();
    }
  });
});
