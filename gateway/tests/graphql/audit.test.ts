// The audit rows of GraphQL requests, in addition to those that the operations write themselves.
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describe('the audit of GraphQL requests', () => {
  let gateway: TestGateway;
  const ids: string[] = [];
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
    for (const content of ['first', 'second', 'third']) {
      const { result } = await gateway.tool('C', 'save_memory', { content, project_id: 'l9', tags: [content] });
      ids.push(result.memory.packet_id);
    }
    await gateway.save('L', 'private', { scope: 'l-private' });
    await gateway.embedded();
  });
  afterAll(() => gateway.close());

  let since: string;
  const begin = async () => {
    const [row] = await gateway.sql('L', 'select max(audit_id::text) as since from public.audit_log');
    since = row.since;
  };
  beforeEach(begin);
  const rows = (operation: string) =>
    gateway.sql(
      'L',
      `select caller, tool_name, table_name, row_id, project_id, scope, status, sqlstate, details from public.audit_log
       where audit_id > $1 and operation = $2 order by audit_id`,
      [since, operation],
    );
  const read = async (caller: string, query: string, variables = {}) => {
    const answer = await gateway.graphql(caller, query, variables);
    expect(answer.errors).toBeUndefined();
    const found = await rows('READ');
    expect(found, 'one row a request').toHaveLength(1);
    return found[0];
  };

  it('records the operation name, the row count of each table, and the requested ids', async () => {
    const row = await read(
      'C',
      'query Recent { memories { nodes { packetId embeddings { nodes { embeddingType } } } } other: memories(first: 1) { nodes { content } } }',
    );
    expect(row.caller).toBe('C');
    expect(row.tool_name).toBe('graphql');
    expect(row.table_name).toBe('packet_store');
    expect(row.status).toBe('success');
    expect(row.details.operation_name).toBe('Recent');
    expect(row.details.tables).toStrictEqual({ packet_store: 4, memory_embeddings: 3 });
    expect(row.details.ids).toHaveLength(6);
    expect(row.details.ids).toStrictEqual(expect.arrayContaining(ids));
  });

  it('names the memory that was read', async () => {
    const row = await read('C', 'query ($id: UUID!) { memoryByPacketId(packetId: $id) { packetId content } }', {
      id: ids[0],
    });
    expect(row.row_id).toBe(ids[0]);
    expect(JSON.stringify(row), 'and never what it says').not.toContain('first');
  });

  it('records the ids of the memories that were returned, whether or not the query selects them', async () => {
    for (const [query, expected] of [
      ['{ memories { nodes { content } } }', ids],
      ['{ memories { edges { node { ...Part } } } } fragment Part on Memory { tags }', ids],
      [`{ memoryByPacketId(packetId: "${ids[2]}") { content } }`, [ids[2]]],
      [`{ memoryByPacketId(packetId: "${ids[2]}") { audited_packetId: content } }`, [ids[2]]],
    ] as [string, string[]][]) {
      await begin();
      const row = await read('C', query);
      expect(row.details.ids.toSorted(), query).toStrictEqual(expected.toSorted());
      expect([row.project_id, row.scope], query).toStrictEqual(['l9', 'developer']);
    }
    const { data } = await gateway.graphql('C', `{ memoryByPacketId(packetId: "${ids[0]}") { content } }`);
    expect(data, 'nothing is added to the answer').toStrictEqual({ memoryByPacketId: { content: 'first' } });
    const node = await gateway.graphql('C', `{ memoryByPacketId(packetId: "${ids[0]}") { id } }`);
    await begin();
    const query = 'query ($id: ID!) { node(id: $id) { id } }';
    const answer = await gateway.graphql('C', query, { id: node.data.memoryByPacketId.id });
    expect(answer.data).toStrictEqual({ node: { id: node.data.memoryByPacketId.id } });
    expect((await rows('READ'))[0].row_id).toBe(ids[0]);
  });

  it('records the project and scope that a read asked for, also when nothing was found', async () => {
    const row = await read(
      'C',
      'query ($project: String) { memories(filter: { projectId: { equalTo: $project }, scope: { equalTo: "developer" } }) { nodes { content } } }',
      { project: 'other' },
    );
    expect([row.project_id, row.scope, row.details.ids]).toStrictEqual(['other', 'developer', []]);
  });

  it('records a refused read only as refused', async () => {
    const { data, errors } = await gateway.graphql('C', '{ admin { auditLogs { nodes { operation } } } }');
    expect([data, errors?.length]).toStrictEqual([{ admin: null }, 1]);
    expect(await rows('DENIED')).toHaveLength(1);
    expect(await rows('READ')).toStrictEqual([]);
    // What was read beside it is a read.
    await begin();
    await gateway.graphql('C', '{ admin { auditLogs { nodes { operation } } } memories { nodes { content } } }');
    expect((await rows('READ')).map(({ details }) => details.tables)).toStrictEqual([{ packet_store: 3 }]);
  });

  it('records a read that found nothing, and a count', async () => {
    const row = await read(
      'C',
      '{ memories(filter: { scope: { equalTo: "l-private" } }) { totalCount nodes { packetId } } }',
    );
    expect(row.details.tables).toStrictEqual({ packet_store: 0 });
    expect(row.details.totals).toStrictEqual({ packet_store: 0 });
    expect(row.details.ids).toStrictEqual([]);
    await begin();
    expect((await read('L', '{ memories { totalCount } }')).details.totals).toStrictEqual({ packet_store: 4 });
  });

  it('covers aliases, fragments, directives, nodes and fields requested twice', async () => {
    const { data } = await gateway.graphql('C', 'query ($id: UUID!) { memoryByPacketId(packetId: $id) { id } }', {
      id: ids[1],
    });
    await begin();
    const row = await read(
      'C',
      `query Tricky($id: UUID!, $node: ID!, $no: Boolean = false) {
        m: memoryByPacketId(packetId: $id) { ...Part }
        m: memoryByPacketId(packetId: $id) { ... on Node { ... on Memory { key: packetId } } }
        skipped: memoryByPacketId(packetId: $id) @include(if: $no) { packetId }
        node(id: $node) { ... on Memory { packetId content } }
      }
      fragment Part on Memory { content }`,
      { id: ids[0], node: data.memoryByPacketId.id },
    );
    expect(row.details.tables).toStrictEqual({ packet_store: 2 });
    expect(row.details.ids.toSorted()).toStrictEqual([ids[0], ids[1]].toSorted());
  });

  it('adds a READ row only for rows beyond the result of a search or write', async () => {
    const { errors } = await gateway.graphql(
      'C',
      'mutation { saveMemory(input: { content: "fourth", projectId: "l9" }) { status memory { packetId content } } }',
    );
    expect(errors).toBeUndefined();
    await gateway.graphql(
      'C',
      '{ searchMemory(query: "second", mode: lexical) { hits { packetId } } getMemoryStats { total } }',
    );
    expect(await rows('READ')).toStrictEqual([]);
    expect(await rows('SEARCH')).toHaveLength(1);
    const row = await read(
      'C',
      '{ searchMemory(query: "second", mode: lexical) { hits { memory { packetId content } } } }',
    );
    expect(row.details.ids).toStrictEqual([ids[1]]);
  });

  it('counts the rows of functions under their names, also when there are none', async () => {
    for (const [query, tables] of [
      ['{ memoryViewsStatus { viewName } }', { memory_views_status: 5 }],
      ['{ memoryViewsStatus { ...Part } } fragment Part on MemoryViewStatus { viewName }', { memory_views_status: 5 }],
      ['{ admin { auditHead { sealedAt } } }', { audit_head: 0 }],
      ['{ a: admin { ...Part } } fragment Part on AdminQuery { auditHead { sealedAt } }', { audit_head: 0 }],
      [
        '{ memoryViewsStatus(first: 2) { viewName } memories(first: 1) { nodes { tags } } }',
        { memory_views_status: 2, packet_store: 1 },
      ],
    ] as [string, object][]) {
      await begin();
      const { details } = await read('L', query);
      if ('audit_head' in details.tables) details.tables.audit_head = 0;
      expect(details.tables, query).toStrictEqual(tables);
    }
  });

  it('adds no second row for a query whose function audits itself', async () => {
    await gateway.call('C', 'assert_fact', { subject: 'api', predicate: 'uses', object: 'Go', project_id: 'l9' });
    for (const query of [
      '{ findFacts(subject: "api") { factId predicate confidence validFrom } }',
      '{ factsAsOf(subject: "api") { validFrom fact { factId predicate } replaced { factId } } }',
      `{ getMemory(packetId: "${ids[0]}") { content contentHash } }`,
      `{ memoryHistory(packetId: "${ids[0]}") { version } }`,
      'mutation { saveMemory(input: { content: "fifth", projectId: "l9" }) { query { findFacts { factId } } } }',
    ]) {
      await begin();
      const { errors } = await gateway.graphql('C', query);
      expect(errors, query).toBeUndefined();
      const found = await rows('READ');
      expect(
        found.map(({ details }) => 'tables' in details),
        query,
      ).toStrictEqual([false]);
    }
    // Rows of other tables beside the answer are a read of their own.
    await begin();
    const { data } = await gateway.graphql('C', '{ findFacts(subject: "api") { factId sourceMemory { content } } }');
    expect(data.findFacts).toHaveLength(1);
    expect((await rows('READ')).map(({ details }) => details.tables)).toStrictEqual([undefined, { packet_store: 1 }]);
  });

  it('records the project and scope that a query of a function asked for', async () => {
    const inL9 = await read('C', '{ agentRecentImportant(projectId: "l9") { agentId importanceScore } }');
    expect([inL9.project_id, inL9.tool_name]).toStrictEqual(['l9', 'graphql']);
    await begin();
    const facts = await read('C', '{ findFacts(projectId: "other", scope: "developer") { factId } }');
    expect([facts.tool_name, facts.project_id, facts.scope]).toStrictEqual(['findFacts', 'other', 'developer']);
    await begin();
    const differences = await read('C', '{ diffWorld(a: "0", projectId: "other") { entityId attributes } }');
    expect([differences.project_id, differences.scope]).toStrictEqual(['other', 'developer']);
  });

  it('records the project of a query also when memories of no project are among those returned', async () => {
    await gateway.save('C', 'for all', { scope: 'global' });
    await begin();
    const row = await read(
      'C',
      `{ memories(filter: { projectId: { equalTo: "l9" } }) { nodes { content } }
         rules: memories(filter: { scope: { equalTo: "global" } }) { nodes { content } } }`,
    );
    expect(row.details.ids.length).toBeGreaterThan(3);
    expect([row.project_id, row.scope]).toStrictEqual(['l9', null]);
  });

  it('records the memories whose versions were read', async () => {
    await gateway.call('C', 'update_memory', { packet_id: ids[0], content: 'first, changed' });
    await begin();
    const row = await read('C', '{ memoryVersions { nodes { content } } }');
    expect(row.details.tables).toStrictEqual({ packet_versions: 1 });
    expect([row.row_id, row.details.ids]).toStrictEqual([ids[0], [ids[0]]]);
    expect([row.project_id, row.scope]).toStrictEqual(['l9', 'developer']);
  });

  it('records the project, scope and memory of a refused query or mutation', async () => {
    const refused = async (query: string, variables = {}) => {
      await begin();
      expect((await gateway.graphql('C', query, variables)).errors).toHaveLength(1);
      const denied = await rows('DENIED');
      expect(denied).toHaveLength(1);
      return [denied[0].row_id, denied[0].project_id, denied[0].scope];
    };
    const task = 'taskId: "t", description: "d", outcome: "success"';
    expect(
      await refused(
        `mutation { reflectOnTask(input: { ${task}, scope: "l-private", projectId: "l9" }) { clientMutationId } }`,
      ),
    ).toStrictEqual([null, 'l9', 'l-private']);
    expect(
      await refused(
        'mutation ($in: ReflectOnTaskInput!) { one: reflectOnTask(input: $in) { taskReflection { lessons { nodes { content } } } } }',
        { in: { taskId: 't', description: 'd', scope: 'l-private', projectId: 'l9' } },
      ),
    ).toStrictEqual([null, 'l9', 'l-private']);
    expect(
      await refused(
        'query ($p: String = "l9") { query { ...Graph } } fragment Graph on Query { entityGraph(projectId: $p, k: 0) { totalMentions } }',
      ),
    ).toStrictEqual([null, 'l9', null]);
    expect(
      await refused('query ($id: UUID!) { memoryHistory(packetId: $id) { version } }', {
        id: '00000000-0000-4000-8000-000000000000',
      }),
    ).toStrictEqual(['00000000-0000-4000-8000-000000000000', null, null]);
    // A secret in a name is not kept.
    const [, project] = await refused(
      `{ entityGraph(projectId: "AKIA${'Z7Q4M2X6K3B5C4D5'}", k: 0) { totalMentions } }`,
    );
    expect(project).not.toContain('Z7Q4M2X6');
  });

  it('records nothing for introspection', async () => {
    await gateway.graphql('C', '{ __schema { queryType { name } } __typename }');
    expect(await rows('READ')).toStrictEqual([]);
  });

  it('records requests that fail: invalid documents, invalid values, queries that are too deep', async () => {
    for (const query of [
      '{ nothing }',
      '{ memories(',
      '{ memoryByPacketId(packetId: "no uuid") { content } }',
      '{ memories { nodes { embeddings { nodes { memory { embeddings { nodes { memory { embeddings { nodes { memory { packetId } } } } } } } } } } } }',
    ]) {
      await begin();
      const { errors } = await gateway.graphql('C', `query Q ${query}`);
      expect(errors, query).toBeTruthy();
      const denied = await rows('DENIED');
      expect(denied, query).toHaveLength(1);
      expect([denied[0].caller, denied[0].status, denied[0].sqlstate]).toStrictEqual(['C', 'error', 'L9VAL']);
    }
  });

  it('records a refused operation once', async () => {
    const { errors } = await gateway.graphql(
      'C',
      'mutation { saveMemory(input: { content: "x", scope: "l-private", projectId: "l9" }) { status } }',
    );
    expect(errors?.[0]?.extensions?.sqlstate).toBe('L9SCP');
    expect(
      (
        await gateway.sql('L', "select operation from public.audit_log where audit_id > $1 and status = 'error'", [
          since,
        ])
      ).map(({ operation }) => operation),
    ).toStrictEqual(['INSERT']);
  });

  it('withholds an answer that could not be audited', async () => {
    const asOwner = (statement: string) => gateway.asSuperuser(`set role l9_owner; ${statement}; reset role`);
    const audit = 'audit.audit_graphql_read(text, jsonb, jsonb, jsonb, text, text)';
    await asOwner(`revoke execute on function ${audit} from l9_agent`);
    try {
      const { data, errors } = await gateway.graphql('C', '{ memories { nodes { content } } }');
      expect(data).toBeUndefined();
      expect(errors?.length).toBe(1);
    } finally {
      await asOwner(`grant execute on function ${audit} to l9_agent`);
    }
  });
});
