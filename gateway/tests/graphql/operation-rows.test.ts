// Rows in the answers of operations: their values are those of the tables, and no second query asks for them.
import type pg from 'pg';
import { useTestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

const MEMORY =
  'packetId content kind scope projectId tags metadata routing provenance threadId parentIds ttl timestamp updatedAt correlationId sessionId traceId textCreator';
const FACT = 'factId subject predicate object confidence validFrom validTo recordedAt creator supportingPacketCount';
const REFLECTION =
  'reflectionId content entities tags confidence priority timesSeen createdAt lastSeen expiresAt scope projectId';

/** A query, or those of one round trip. */
interface Asked {
  text?: unknown;
  statements?: { text?: unknown }[];
}

describe('the row that a GraphQL operation answers with', () => {
  const gateway = useTestGateway({ embedder: standIn });
  const statements: string[] = [];
  beforeAll(async () => {
    const recorded = new WeakSet<object>();
    gateway.instance.database.pool.on('acquire', (client: pg.PoolClient) => {
      if (recorded.has(client)) return;
      recorded.add(client);
      const query = client.query.bind(client) as (...args: unknown[]) => unknown;
      const record = (...args: unknown[]) => {
        const [asked] = args as [string | Asked];
        if (typeof asked === 'string') statements.push(asked);
        else statements.push(...(asked.statements ?? [asked]).map(({ text }) => String(text)));
        return query(...args);
      };
      Object.assign(client, { query: record });
    });
  });

  /** Runs a request, and counts the calls of the operation and the queries that PostGraphile makes for rows of the table. */
  const ask = async (query: string, variables: object, counted: { operation: string; table: string }) => {
    statements.length = 0;
    const { data, errors } = await gateway.graphql('C', query, variables);
    expect(errors, JSON.stringify(errors)).toBeUndefined();
    const calls = statements.filter((text) => text.includes(`${counted.operation}(`)).length;
    const queries = statements.filter((text) => text.includes(`from "public"."${counted.table}"`)).length;
    return { data, calls, queries };
  };
  const ofSave = { operation: 'save_memory', table: 'packet_store' };
  const ofFact = { operation: 'assert_fact', table: 'knowledge_facts' };

  it('holds the values of a saved memory, with one statement for the save and none for the row', async () => {
    const { data, calls, queries } = await ask(
      `mutation ($i: SaveMemoryInput!) { saveMemory(input: $i) { status memory { ${MEMORY} } } }`,
      {
        i: {
          content: 'rows ✓',
          projectId: 'l9',
          tags: ['a', 'b'],
          ttl: '2036-12-31T00:00:00Z',
          threadId: 't',
          metadata: { notes: { a: 1.5 } },
          envelope: { x: [1, null] },
          provenance: { y: 'z' },
          correlationId: 'c',
          sessionId: 's',
          traceId: 'tr',
        },
      },
      ofSave,
    );
    expect({ calls, queries }).toStrictEqual({ calls: 1, queries: 0 });
    const { memory } = data.saveMemory;
    const again = await ask(
      `query ($id: UUID!) { memoryByPacketId(packetId: $id) { ${MEMORY} } getMemory(packetId: $id) { ${MEMORY} } }`,
      { id: memory.packetId },
      ofSave,
    );
    expect(again.data).toStrictEqual({ memoryByPacketId: memory, getMemory: memory });
    expect(again.queries, 'only memoryByPacketId queries the table').toBe(1);
  });

  it('holds who wrote the text of a memory that an administrator has changed', async () => {
    const packetId = await gateway.save('C', 'the words of the agent');
    await gateway.query('L', 'mutation ($i: UpdateMemoryInput!) { updateMemory(input: $i) { memory { packetId } } }', {
      i: { packetId, content: 'the words of the administrator' },
    });
    const { getMemory, memoryByPacketId } = await gateway.query(
      'C',
      `query ($id: UUID!) { memoryByPacketId(packetId: $id) { ${MEMORY} } getMemory(packetId: $id) { ${MEMORY} } }`,
      { id: packetId },
    );
    expect(getMemory).toStrictEqual(memoryByPacketId);
    expect(getMemory).toMatchObject({ content: 'the words of the administrator', textCreator: 'L-CTO' });
  });

  it('is queried once where the request selects more than the operation answers', async () => {
    const { data, calls, queries } = await ask(
      'mutation ($i: SaveMemoryInput!) { saveMemory(input: $i) { memory { content importanceScore versions { totalCount } } } }',
      { i: { content: 'rows with relations', projectId: 'l9' } },
      ofSave,
    );
    expect({ calls, queries }).toStrictEqual({ calls: 1, queries: 1 });
    expect(data.saveMemory.memory).toMatchObject({ content: 'rows with relations', versions: { totalCount: 0 } });
  });

  it('holds the values of a fact, whether it was asserted or found', async () => {
    const { data, calls, queries } = await ask(
      `mutation { assertFact(input: { subject: "a", predicate: "b", object: { c: [1, "x"] }, projectId: "l9" }) { fact { ${FACT} } } }`,
      {},
      ofFact,
    );
    expect({ calls, queries }).toStrictEqual({ calls: 1, queries: 0 });
    const found = await ask(
      `{ findFacts(subject: "a") { ${FACT} } none: findFacts(subject: "a", offset: 3) { factId } }`,
      {},
      { operation: 'find_facts', table: 'knowledge_facts' },
    );
    expect({ calls: found.calls, queries: found.queries }).toStrictEqual({ calls: 2, queries: 0 });
    const { fact } = data.assertFact;
    expect(found.data).toStrictEqual({ findFacts: [fact], none: [] });
    const listed = await gateway.graphql('C', `{ facts { nodes { ${FACT} } } }`);
    expect(listed.data.facts.nodes).toStrictEqual([fact]);
  });

  it('holds the values of a reflection', async () => {
    const { data, calls } = await ask(
      `mutation { reflect(input: { content: "be kind", projectId: "l9" }) {
         reflection { ${REFLECTION} } query { reflections { nodes { ${REFLECTION} } } }
       } }`,
      {},
      { operation: 'public.reflect', table: 'reflection_store' },
    );
    expect(calls).toBe(1);
    expect(data.reflect.query.reflections.nodes).toStrictEqual([data.reflect.reflection]);
  });

  it('is a memory inside of another answer, too, with the fields that only the table has', async () => {
    const items = [{ kind: 'document', projectId: 'l9', data: { title: 'Rows', body_md: '# Rows\n\nInside.\n' } }];
    const { memoryStore } = await gateway.query(
      'C',
      'mutation ($items: [MemoryStoreItem!]!) { memoryStore(input: { items: $items }) { stored { packetId updatedAt memory { updatedAt } } } }',
      { items },
    );
    const { packetId, updatedAt, memory } = memoryStore.stored[0];
    expect(updatedAt).toMatch(/^\d{4}-\d\d-\d\dT/);
    expect(Date.parse(updatedAt)).toBe(Date.parse(memory.updatedAt));
    const answer = await gateway.query(
      'C',
      `query ($id: UUID!) { getDocument(packetId: $id) {
        bodyMd memory { packetId kind speaker accessCount documentByPacketId { title } } } }`,
      { id: packetId },
    );
    expect(answer.getDocument).toStrictEqual({
      bodyMd: '# Rows\n\nInside.\n',
      memory: { packetId, kind: 'document', speaker: null, accessCount: '0', documentByPacketId: { title: 'Rows' } },
    });
  });
});
