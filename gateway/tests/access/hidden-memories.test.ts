// A private memory and a missing one get the same code, the same text, the same audit rows and the same time.
import type { Fields } from '../../../db/tests/support/kinds.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { cheapEmbedder, type Hidden, MISSING, plantHidden } from './attacker.ts';

describe('a memory that is hidden from C', () => {
  let gateway: TestGateway;
  let hidden: Hidden[];
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: cheapEmbedder });
    const { ofL, ofOtherTenant } = await plantHidden(gateway);
    hidden = [ofL, ofOtherTenant];
  });
  afterAll(() => gateway.close());

  const graphql = {
    read: 'query ($id: UUID!) { memoryByPacketId(packetId: $id) { content } }',
    update: 'mutation ($id: UUID!) { updateMemory(input: { packetId: $id, content: "mine" }) { status } }',
    move: 'mutation ($id: UUID!) { updateMemory(input: { packetId: $id, scope: "developer", projectId: "l9" }) { status } }',
    redate:
      'mutation ($id: UUID!) { updateMemory(input: { packetId: $id, timestamp: "2020-01-01T00:00:00Z", speaker: "Ann" }) { status } }',
    remove: 'mutation ($id: UUID!) { deleteMemory(input: { packetId: $id }) { packetId } }',
    child:
      'mutation ($id: UUID!) { saveMemory(input: { content: "a child", projectId: "l9", parentIds: [$id] }) { status } }',
  };
  const tools: [string, (id: string) => object][] = [
    ['get_memory', (id) => ({ packet_id: id })],
    ['update_memory', (id) => ({ packet_id: id, content: 'mine' })],
    ['update_memory', (id) => ({ packet_id: id, importance: 1 })],
    ['update_memory', (id) => ({ packet_id: id, timestamp: '2020-01-01T00:00:00Z', speaker: 'Ann' })],
    ['delete_memory', (id) => ({ packet_id: id })],
    ['save_memory', (id) => ({ content: 'a child', project_id: 'l9', parent_ids: [id] })],
  ];
  const ask = async (id: string) => {
    const answers: unknown[] = [];
    for (const document of Object.values(graphql)) {
      const { status, data, errors } = await gateway.graphql('C', document, { id });
      answers.push([status, data, errors]);
    }
    for (const [name, args] of tools) {
      const { isError, text, result } = await gateway.tool('C', name, args(id));
      answers.push([isError, text, result]);
    }
    return JSON.stringify(answers).replaceAll(id, '<id>');
  };

  it('gets the same answer as a missing one, for every call of every API', async () => {
    const missing = await ask(MISSING);
    for (const { id } of hidden) expect(await ask(id)).toBe(missing);
    expect(missing).toMatch(/L9OWN/);
  });

  it('cannot be read by a Relay id, forged or copied', async () => {
    const { result } = await gateway.tool('C', 'save_memory', { content: 'with an id', project_id: 'l9' });
    const own = await gateway.graphql('C', 'query ($id: UUID!) { memoryByPacketId(packetId: $id) { id } }', {
      id: result.memory.packet_id,
    });
    const [kind] = JSON.parse(Buffer.from(own.data.memoryByPacketId.id, 'base64').toString());
    const nodeId = (id: string) => Buffer.from(JSON.stringify([kind, id])).toString('base64');
    const node = async (id: string) => {
      const { data, errors } = await gateway.graphql(
        'C',
        'query ($id: ID!) { node(id: $id) { __typename ... on Memory { content } } }',
        { id },
      );
      return JSON.stringify([data, errors]);
    };
    expect(await node(nodeId(result.memory.packet_id))).toMatch(/with an id/);
    const missing = await node(nodeId(MISSING));
    for (const { id } of hidden) expect(await node(nodeId(id))).toBe(missing);
    expect(missing).toMatch(/"node":null/);
  });

  it('changes no count, page, order or cursor', async () => {
    const page = async (more: string) =>
      (
        await gateway.graphql(
          'C',
          `{ memories(first: 100 ${more}) { totalCount edges { cursor node { packetId } } pageInfo { hasNextPage hasPreviousPage } } }`,
        )
      ).data.memories;
    for (const more of [
      '',
      'orderBy: PRIMARY_KEY_ASC',
      'orderBy: [SCOPE_DESC, PRIMARY_KEY_DESC]',
      'orderBy: [THREAD_ID_ASC, PRIMARY_KEY_ASC]',
      'orderBy: [TIMESTAMP_ASC, PRIMARY_KEY_ASC]',
      'orderBy: [CREATED_AT_DESC, PRIMARY_KEY_ASC]',
    ]) {
      const { totalCount, edges, pageInfo } = await page(more);
      expect([totalCount, pageInfo], more).toStrictEqual([
        edges.length,
        { hasNextPage: false, hasPreviousPage: false },
      ]);
    }
    // A cursor is where to go on from: one at the place of a hidden row goes on with the next that is to be seen.
    const { edges } = await page('orderBy: PRIMARY_KEY_ASC');
    const [digest] = JSON.parse(Buffer.from(edges[0].cursor, 'base64').toString());
    for (const { id } of hidden) {
      const cursor = Buffer.from(JSON.stringify([digest, id])).toString('base64');
      const after = await page(`orderBy: PRIMARY_KEY_ASC, after: "${cursor}"`);
      const expected = edges.filter(({ node }: { node: { packetId: string } }) => node.packetId > id);
      expect(after.edges).toStrictEqual(expected);
    }
  });

  it('shows neither its speaker nor its time, whoever asks for them', async () => {
    const fields = 'speaker timestamp createdAt';
    const { data } = await gateway.graphql(
      'C',
      `{ memories(filter: { timestamp: { lessThan: "1990-01-01T00:00:00Z" } }) { totalCount nodes { ${fields} } }
         before: searchMemory(until: "1990-01-01T00:00:00Z") { hits { ${fields} } searched { candidates } }
         said: searchMemory(speaker: "quincunx-speaker") { hits { ${fields} } searched { candidates } }
         getMemoryStats { oldest } }`,
    );
    expect(data.memories).toStrictEqual({ totalCount: 0, nodes: [] });
    for (const answer of [data.before, data.said])
      expect(answer).toStrictEqual({ hits: [], searched: { candidates: 0 } });
    expect(data.getMemoryStats.oldest > '1990').toBe(true);
    const { result } = await gateway.tool('C', 'search_memory', { speaker: 'quincunx-speaker' });
    expect(result.hits).toStrictEqual([]);
    const forL = await gateway.tool('L', 'search_memory', { speaker: 'quincunx-speaker' });
    expect(forL.result.hits[0].timestamp).toMatch(/^1987-06-05/);
  });

  it('changes no relevance, no number of hits that were left out, and no language, over MCP and GraphQL', async () => {
    await gateway.tool('C', 'save_memory', { content: 'An oak stands at the gate.', project_id: 'l9' });
    await gateway.tool('C', 'save_memory', {
      content: 'Der Apfelbaum steht am Tor.',
      project_id: 'l9',
      language: 'german',
    });
    // The score itself also moves with the clock, by the age of a memory.
    const measured = async (word: string) => {
      const answers: unknown[] = [];
      // Half of the words are found, or fewer: the others weigh as much as they are rare among what C may read.
      for (const query of [`oak ${word}`, `oak gate ${word}`, word])
        for (const minRelevance of [0, 0.3, 0.9])
          for (const language of [null, 'english', 'german']) {
            const ask = `query ($query: String!, $minRelevance: Float, $language: String) {
              searchMemory(query: $query, mode: lexical, minRelevance: $minRelevance, language: $language) {
                hits { content lexicalScore relevance } searched { candidates leftOut notice } } }`;
            const { data, errors } = await gateway.graphql('C', ask, { query, minRelevance, language });
            expect(errors).toBeUndefined();
            answers.push(data);
            const args = { query, mode: 'lexical', min_relevance: minRelevance, ...(language && { language }) };
            const { hits, searched } = (await gateway.tool('C', 'search_memory', args)).result;
            const found = hits.map(({ content, lexical_score, relevance }: Fields) => [
              content,
              lexical_score,
              relevance,
            ]);
            answers.push([found, searched]);
          }
      return JSON.stringify(answers).replaceAll(word, '<word>');
    };
    const missing = await measured('plumbago');
    for (const word of ['quincunx', 'zeugmatic']) expect((await measured(word)) === missing, word).toBe(true);
    expect(missing).toMatch(/"relevance":0\.\d/);
    expect(missing).toMatch(/"leftOut":[1-9]/);
  });

  it('is not found by its fields, with an index or without, and lists are as if nobody had the field', async () => {
    const byField = async (field: string, value: string) => {
      const answers: unknown[] = [];
      for (const where of [{ [field]: { exists: true } }, { [field]: value }, { [field]: [value, 'x'] }]) {
        for (const query of [undefined, 'oak'])
          answers.push((await gateway.tool('C', 'search_memory', { where, query, mode: 'lexical' })).result);
        const ask = 'query ($where: JSON) { memories(where: $where) { totalCount notice nodes { packetId } } }';
        answers.push((await gateway.graphql('C', ask, { where })).data);
      }
      return JSON.stringify(answers).replaceAll(field, '<field>').replaceAll(value, '<value>');
    };
    for (const indexed of [false, true]) {
      const missing = await byField('plumbago-field', 'plumbago-field');
      for (const word of ['quincunx-field', 'zeugmatic-field']) {
        if (indexed) await gateway.sql('L', 'select public.register_field_index($1)', [word]);
        expect(await byField(word, word)).toBe(missing);
      }
      expect(missing).toMatch(/"totalCount":0,"notice":null/);
    }
    const { result } = await gateway.tool('L', 'search_memory', { where: { 'quincunx-field': 'quincunx-field' } });
    expect(result.hits).toHaveLength(1);
    await gateway.sql(
      'L',
      "select public.drop_field_index('quincunx-field'), public.drop_field_index('zeugmatic-field')",
    );
  });

  it('shows nothing of its trace, its session or its correlation', async () => {
    const traced = async (trace: string) => {
      const { data, errors } = await gateway.graphql(
        'C',
        'query ($trace: String!) { traceOf(traceId: $trace) { what } }',
        { trace },
      );
      const rows = await gateway.sql('C', 'select * from public.trace_of($1)', [trace]);
      const [audited] = await gateway.asSuperuser(
        "select details - 'duration_ms' as details from public.audit_log where operation = 'READ' order by audit_id desc limit 1",
      );
      return JSON.stringify([data, errors, rows, audited]).replaceAll(trace, '<trace>');
    };
    const missing = await traced('plumbago-trace');
    expect(missing).toMatch(/"traceOf":\[\]/);
    for (const word of ['quincunx-trace', 'zeugmatic-trace']) expect(await traced(word)).toBe(missing);
    expect(await gateway.sql('L', "select 1 from public.trace_of('quincunx-trace')")).not.toStrictEqual([]);
  });

  it('changes no sum, score or order of the views', async () => {
    const know = async (caller: string, scope: string, times: number) => {
      const args = { project_id: 'views', scope };
      for (let n = 0; n < times; n++) {
        await gateway.sql(
          caller,
          "select public.relate('harbour', 'feeds', 'mill', scope => $1, project_id => 'views')",
          [scope],
        );
        await gateway.call(caller, 'reflect', {
          ...args,
          content: `what ${scope} learned, ${n}`,
          tags: [`tag of ${scope}`],
        });
      }
      await gateway.sql(
        caller,
        "select public.assert_fact('mill', 'grinds', to_jsonb($1::text), scope => $1, project_id => 'views')",
        [scope],
      );
      await gateway.sql('L', 'call public.refresh_memory_views()');
    };
    const seen = async () =>
      JSON.stringify(
        await gateway.query(
          'C',
          `{ entityGraph(projectId: "views") {
               totalMentions maxConfidence avgConfidence relationshipCount lastSeen sourceDegree targetDegree }
             reflectionPatterns(projectId: "views") { reflectionType count avgConfidence allTags latest }
             recurringLessons(projectId: "views") { weight }
             highConfidenceFacts(projectId: "views") { accessCount combinedScore fact { object } }
             agentRecentImportant(projectId: "views") { memory { packetId } accessCount } }`,
        ),
      );
    await know('C', 'developer', 1);
    const before = await seen();
    expect(before).toMatch(/"totalMentions":"?1"?,.*"count":1,/);
    await know('L', 'l-private', 3);
    expect(await seen()).toBe(before);
    const [{ total }] = await gateway.sql(
      'L',
      "select total_mentions::int as total from public.entity_graph(project_id => 'views')",
    );
    expect(total).toBe(4);
  });

  it('leaves the same audit rows as a missing one when it is requested', async () => {
    const recorded = async (id: string) => {
      const [{ since }] = await gateway.asSuperuser('select max(audit_id::text) as since from public.audit_log');
      await ask(id);
      const rows = await gateway.asSuperuser(
        `select operation, table_name, row_id, tenant_id, project_id, scope, caller, creator, source, tool_name, status, sqlstate, details
         from public.audit_log where audit_id::text > $1 order by audit_id`,
        [since],
      );
      expect(rows.length).toBeGreaterThanOrEqual(10);
      return JSON.stringify(rows)
        .replaceAll(id, '<id>')
        .replace(/"duration_ms":[\d.]+/g, '');
    };
    const missing = await recorded(MISSING);
    for (const { id } of hidden) expect(await recorded(id)).toBe(missing);
  });

  it('takes as long to answer as a missing one', async () => {
    // Calls alternate, so that other load on the machine affects both; medians ignore single pauses.
    const [secret, missing] = [hidden[0]!.id, MISSING];
    const times: Record<string, number[]> = { [secret]: [], [missing]: [] };
    const client = await gateway.mcp('C');
    for (let round = 0; round < 120; round++) {
      for (const id of round % 2 ? [secret, missing] : [missing, secret]) {
        const started = performance.now();
        await client.callTool({ name: 'get_memory', arguments: { packet_id: id } });
        if (round >= 10) times[id]!.push(performance.now() - started);
      }
    }
    const median = (list: number[]) => list.toSorted((a, b) => a - b)[list.length >> 1]!;
    const ratio = median(times[secret]!) / median(times[missing]!);
    console.log(`median of hidden over median of missing: ${ratio.toFixed(2)}`);
    expect(ratio, `median of hidden over median of missing: ${ratio.toFixed(2)}`).toBeGreaterThan(1 / 1.5);
    expect(ratio, `median of hidden over median of missing: ${ratio.toFixed(2)}`).toBeLessThan(1.5);
  });
});
