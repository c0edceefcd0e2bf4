import { randomUUID } from 'node:crypto';
import { rollUp, save, search, vote } from '../../../db/tests/importance/support.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ embedder: standIn });
});
afterAll(() => gateway.close());

describe('the access log over the APIs', () => {
  it('gives the hits of every API an access id', async () => {
    await save(gateway, 'C', 'the bittern booms at dusk');
    const ofTool = (await gateway.tool('C', 'search_memory', { query: 'bittern' })).result.hits[0].access_id;
    const { data, errors } = await gateway.graphql(
      'C',
      '{ searchMemory(query: "bittern") { hits { accessId memory { accessCount accesses { nodes { accessId agentId memory { content } } } } } } }',
    );
    expect(errors).toBeUndefined();
    const [hit] = data.searchMemory.hits;
    expect(hit.memory.accesses.nodes.map((node: { accessId: string }) => node.accessId)).toStrictEqual([
      ofTool,
      hit.accessId,
    ]);
    expect(hit.memory.accesses.nodes[0].memory.content).toBe('the bittern booms at dusk');
  });

  it('shows an agent only its own accesses, and audits the read', async () => {
    await save(gateway, 'C', 'the plover runs along the shore');
    const secret = await save(gateway, 'L', 'the plover of L', { scope: 'l-private' });
    await search(gateway, 'L', 'plover');
    await search(gateway, 'C', 'plover');
    const [{ n }] = await gateway.sql('C', 'select count(*)::int as n from public.memory_access_log');
    const { data } = await gateway.graphql(
      'C',
      'query Mine { memoryAccesses { totalCount nodes { agentId targetId } } }',
    );
    expect(data.memoryAccesses.totalCount).toBe(n);
    expect(data.memoryAccesses.nodes.every(({ agentId }: { agentId: string }) => agentId === 'C')).toBe(true);
    expect(JSON.stringify(data)).not.toContain(secret);
    const [read] = await gateway.sql(
      'L',
      "select details from public.audit_log where details ->> 'operation_name' = 'Mine' and operation = 'READ'",
    );
    expect(read.details.tables.memory_access_log).toBe(n);
  });

  it('shows the statistics of a memory over GraphQL after a roll-up', async () => {
    // That its own writer reads it would count nothing.
    const id = await save(gateway, 'L', 'a lantern in the fog');
    for (let n = 0; n < 5; n++) await search(gateway, 'C', 'lantern');
    await gateway.sql('C', 'select public.get_memory($1)', [id]);
    await rollUp(gateway);
    const [row] = await gateway.asSuperuser('select last_accessed from public.memory_signals where packet_id = $1', [
      id,
    ]);
    const { data } = await gateway.graphql(
      'C',
      'query ($id: UUID!) { memoryByPacketId(packetId: $id) { accessCount lastAccessed importanceScore estimatedImportance contradictionCount } }',
      { id },
    );
    const memory = data.memoryByPacketId;
    expect(memory.accessCount).toBe('6');
    expect(new Date(memory.lastAccessed).getTime()).toBe(row.last_accessed.getTime());
    expect(memory.estimatedImportance).toBe(0.5);
    expect(memory.importanceScore).toBeGreaterThan(0.5);
    expect(memory.importanceScore).toBeLessThan(0.6);
    expect(memory.contradictionCount).toBe(0);
  });

  it('counts contradictions of a memory over GraphQL', async () => {
    const id = await save(gateway, 'C', 'the astrolabe is of brass');
    await gateway.sql('L', "select public.register_predicate('is of')");
    const assertFrom = (memory: string, object: string) =>
      gateway.sql('C', `select public.assert_fact('the astrolabe', 'is of', to_jsonb($2::text), source_packet => $1)`, [
        memory,
        object,
      ]);
    await assertFrom(id, 'brass');
    await assertFrom(await save(gateway, 'C', 'it turned out to be bronze'), 'bronze');
    const { data } = await gateway.graphql(
      'C',
      'query ($id: UUID!) { memoryByPacketId(packetId: $id) { contradictionCount } }',
      { id },
    );
    expect(data.memoryByPacketId.contradictionCount).toBe(1);
  });

  it('reports the backlog of the roll-up at /metrics', async () => {
    await save(gateway, 'C', 'a barometer that falls');
    await search(gateway, 'C', 'barometer');
    await rollUp(gateway);
    const text = await gateway.metrics();
    const [backlog, oldest, last] = text.split('\n').filter((line) => line.startsWith('l9_access_'));
    expect([backlog, oldest]).toStrictEqual(['l9_access_backlog 0', 'l9_access_backlog_oldest_seconds 0']);
    expect(last!).toMatch(/^l9_access_last_roll_up_timestamp_seconds 1\d{9}/);
  });
});

describe('importance over the APIs', () => {
  it('is the learned one everywhere, beside the estimate of the writer', async () => {
    const content = 'the viaduct carries two tracks';
    const saved = await gateway.tool('L', 'save_memory', { content, project_id: 'l9', importance: 0.8 });
    const { packet_id } = saved.result.memory;
    expect([saved.result.memory.importance, saved.result.memory.estimated_importance]).toStrictEqual([
      expect.closeTo(0.79, 2),
      0.8,
    ]);
    const search = () => gateway.tool('C', 'search_memory', { query: 'viaduct', mode: 'lexical' });
    const [hit] = (await search()).result.hits;
    await gateway.tool('C', 'record_feedback', { access_id: hit.access_id, was_useful: false });
    await rollUp(gateway);
    const learned = expect.closeTo(0.716, 2);
    const [found] = (await search()).result.hits;
    const { memory: got } = (await gateway.tool('C', 'get_memory', { packet_id })).result;
    const { memory: updated } = (await gateway.tool('L', 'update_memory', { packet_id, tags: ['rail'] })).result;
    const { hits: newest } = (await gateway.tool('C', 'search_memory', { tags: ['rail'] })).result;
    for (const shown of [found, got, updated, newest[0]]) {
      expect([shown.importance, shown.estimated_importance]).toStrictEqual([learned, 0.8]);
    }
    const { data, errors } = await gateway.graphql(
      'C',
      `query ($id: UUID!) {
         searchMemory(query: "viaduct") { hits { packetId importance estimatedImportance memory { importanceScore estimatedImportance } } }
         getMemory(packetId: $id) { importanceScore estimatedImportance versions { nodes { estimatedImportance } } }
         memories { nodes { importanceScore estimatedImportance } }
       }`,
      { id: packet_id },
    );
    expect(errors).toBeUndefined();
    const shown = { importanceScore: learned, estimatedImportance: 0.8 };
    expect(data.searchMemory.hits).toContainEqual({
      packetId: packet_id,
      importance: learned,
      estimatedImportance: 0.8,
      memory: shown,
    });
    expect(data.getMemory).toStrictEqual({ ...shown, versions: { nodes: [{ estimatedImportance: 0.8 }] } });
    expect(data.memories.nodes).toContainEqual(shown);
  });

  it('counts what an agent does over several APIs and users as one voice', async () => {
    const { packet_id } = (await gateway.tool('L', 'save_memory', { content: 'the aqueduct leaks', project_id: 'l9' }))
      .result.memory;
    const importance = async () => {
      await rollUp(gateway);
      return (await gateway.tool('L', 'get_memory', { packet_id })).result.memory.importance as number;
    };
    const before = await importance();
    for (let n = 0; n < 6; n++) {
      const [hit] = (await gateway.tool('C', 'search_memory', { query: 'aqueduct' })).result.hits;
      await gateway.tool('C', 'record_feedback', { access_id: hit.access_id, was_useful: false });
      const { data } = await gateway.graphql('C', '{ searchMemory(query: "aqueduct") { hits { accessId } } }');
      await gateway.graphql(
        'C',
        'mutation ($a: UUID!) { recordFeedback(input: { accessId: $a, wasUseful: false }) { feedback { packetId } } }',
        { a: data.searchMemory.hits[0].accessId },
      );
    }
    const after = await importance();
    expect(after).toBeLessThan(before - 0.05);
    expect(after).toBeGreaterThan(before - 0.1);
  });
});

describe('feedback over the APIs', () => {
  const mutation = `mutation ($a: UUID!, $u: Boolean!, $r: String) {
    recordFeedback(input: { accessId: $a, wasUseful: $u, reason: $r }) {
      feedback { accessId packetId wasUseful reason memory { content } }
    }
  }`;
  const accessTo = async (caller: string, content: string, query: string, args = {}) => {
    const id = await save(gateway, caller, content, args);
    const hit = (await search(gateway, caller, query)).find(({ packet_id }) => packet_id === id);
    return { id, access: hit!.access_id };
  };

  it('stores a vote over GraphQL, and replaces it by one over MCP', async () => {
    const { id, access } = await accessTo('C', 'the walnut tree', 'walnut');
    const { data, errors } = await gateway.graphql('C', mutation, { a: access, u: false, r: 'it was a hazel' });
    expect(errors).toBeUndefined();
    expect(data.recordFeedback.feedback).toStrictEqual({
      accessId: access,
      packetId: id,
      wasUseful: false,
      reason: 'it was a hazel',
      memory: { content: 'the walnut tree' },
    });
    const { result, text } = await gateway.tool('C', 'record_feedback', { access_id: access, was_useful: true });
    expect([result.packet_id, result.was_useful, result.reason]).toStrictEqual([id, true, null]);
    expect(text).toMatch(/was useful/);
    const votes = await gateway.asSuperuser('select was_useful from public.memory_feedback where packet_id = $1', [id]);
    expect(votes).toStrictEqual([{ was_useful: true }]);
  });

  it('gives one error for a missing access, one of another caller and one of a hidden memory', async () => {
    const { access: ofL } = await accessTo('L', 'the linden of both', 'linden');
    const { access: secret } = await accessTo('L', 'the linden of L', 'linden', { scope: 'l-private' });
    const moved = await accessTo('C', 'the linden that moves', 'linden moves');
    await vote(gateway, 'C', moved.access, true);
    await gateway.sql('L', "select public.update_memory($1, scope => 'l-private')", [moved.id]);
    const deleted = await accessTo('C', 'the linden that goes', 'linden goes');
    await gateway.sql('C', 'select public.delete_memory($1)', [deleted.id]);
    const ask = async (access: string) => {
      const { data, errors } = await gateway.graphql('C', mutation, { a: access, u: true });
      const { isError, text } = await gateway.tool('C', 'record_feedback', { access_id: access, was_useful: false });
      return JSON.stringify([data, errors, isError, text]).replaceAll(access, '<access>');
    };
    const missing = await ask(randomUUID());
    expect(missing).toMatch(/L9OWN/);
    for (const access of [ofL, secret, moved.access, deleted.access]) expect(await ask(access)).toBe(missing);
  });

  it('refuses a malformed access id over MCP and names the field', async () => {
    const { text } = await gateway.tool('C', 'record_feedback', { access_id: 'nonsense', was_useful: true });
    expect(text).toMatch(/INVALID_INPUT \(L9VAL\): access_id/);
  });
});
