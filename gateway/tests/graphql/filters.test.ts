// The argument `filter` of connections: what it finds, and that it tells nothing about rows that the caller can't see.
import {
  buildClientSchema,
  type GraphQLObjectType,
  type GraphQLSchema,
  getIntrospectionQuery,
  getNamedType,
  isInputObjectType,
  isObjectType,
} from 'postgraphile/graphql';
import {
  assertDocumented,
  assertNoTrace,
  cheapEmbedder,
  MISSING,
  OTHER_TENANT,
  plantHidden,
} from '../access/attacker.ts';
import { useTestGateway } from '../support/gateway.ts';

const PAGE = 'totalCount pageInfo { hasNextPage hasPreviousPage startCursor endCursor } nodes';
const CONNECTIONS = {
  memories: { type: 'MemoryFilter', columns: 'packetId kind scope projectId threadId timestamp' },
  facts: { type: 'FactFilter', columns: 'factId subject predicate validFrom sourcePacket' },
  entityRelationships: {
    type: 'EntityRelationshipFilter',
    columns: 'relationshipId sourceEntity targetEntity relationshipType confidence',
  },
  auditLogs: { type: 'AuditLogFilter', columns: 'auditId occurredAt operation rowId' },
};
type Connection = keyof typeof CONNECTIONS;

describe('a filter in GraphQL', () => {
  const gateway = useTestGateway({ embedder: cheapEmbedder });
  const idOf: Record<string, string> = {};
  let half: string;
  beforeAll(async () => {
    const save = async (content: string, kind: string) => {
      const { result } = await gateway.tool('C', 'save_memory', {
        content,
        kind,
        project_id: 'l9',
        on_similar: 'keep',
        ...(kind === 'log' ? {} : { thread_id: `thread-${kind}` }),
      });
      idOf[content] = result.memory.packet_id;
      return result.memory.timestamp as string;
    };
    await save('an old note', 'note');
    half = await save('an old log', 'log');
    await save('a new decision', 'finding');
    await save('a new log', 'log');
    await gateway.sql('C', "select assert_fact('billing', 'runs_on', '\"postgres\"', project_id => 'l9')");
    await gateway.sql('C', "select assert_fact('search', 'runs_on', '\"redis\"', project_id => 'l9')");
    await gateway.sql('C', "select relate('billing', 'depends_on', 'postgres', 0.9, project_id => 'l9')");
    await gateway.sql('C', "select relate('billing', 'mentions', 'redis', 0.3, project_id => 'l9')");
  });

  const ask = async (caller: string, connection: Connection, filter: unknown, args = '') => {
    const { type, columns } = CONNECTIONS[connection];
    const list = `${connection}(filter: $filter ${args}) { ${PAGE} { ${columns} } }`;
    const { data, ...answer } = await gateway.graphql(
      caller,
      `query ($filter: ${type}!) { ${connection === 'auditLogs' ? `admin { ${list} }` : list} }`,
      { filter },
    );
    return { ...answer, data: data?.admin ?? data };
  };
  const found = async (filter: object, args = '') => {
    const { data, errors } = await ask('C', 'memories', filter, args);
    expect(errors, JSON.stringify(errors)).toBeUndefined();
    const contents = Object.entries(idOf).map(([content, id]) => [id, content]);
    return data.memories.nodes.map(({ packetId }: { packetId: string }) => new Map(contents as never).get(packetId));
  };

  it('asks for ranges and lists of memories', async () => {
    const own = { packetId: { in: Object.values(idOf) } };
    const order = 'orderBy: TIMESTAMP_ASC';
    expect(await found({ ...own, timestamp: { greaterThan: half } }, order)).toStrictEqual([
      'a new decision',
      'a new log',
    ]);
    expect(await found({ ...own, timestamp: { lessThanOrEqualTo: half } }, order)).toStrictEqual([
      'an old note',
      'an old log',
    ]);
    expect(await found({ ...own, timestamp: { greaterThan: half }, kind: { in: ['log', 'note'] } })).toStrictEqual([
      'a new log',
    ]);
    expect(await found({ ...own, threadId: { isNull: true } }, order)).toStrictEqual(['an old log', 'a new log']);
    expect(
      await found({ ...own, not: { or: [{ kind: { equalTo: 'log' } }, { kind: { greaterThanOrEqualTo: 'note' } }] } }),
    ).toStrictEqual(['a new decision']);
    expect(await found({ ...own, kind: { in: [] } })).toStrictEqual([]);
    const { data } = await ask('C', 'memories', { ...own, kind: { equalTo: 'log' } }, `first: 1, ${order}`);
    expect(data.memories).toMatchObject({
      totalCount: 2,
      pageInfo: { hasNextPage: true },
      nodes: [{ packetId: idOf['an old log'] }],
    });
  });

  it('asks the same of facts, relations, the audit log, and the connections of a row', async () => {
    const facts = await ask('C', 'facts', {
      predicate: { equalTo: 'runs_on' },
      subjectNormalized: { in: ['search', 'index'] },
    });
    expect(facts.data.facts).toMatchObject({ totalCount: 1, nodes: [{ subject: 'search' }] });
    const since = await ask('C', 'facts', { validFrom: { greaterThan: '2999-01-01T00:00:00Z' } });
    expect(since.data.facts.totalCount).toBe(0);
    const sure = await ask('C', 'entityRelationships', { confidence: { greaterThanOrEqualTo: 0.5 } });
    expect(sure.data.entityRelationships.nodes).toMatchObject([{ relationshipType: 'depends_on' }]);
    const audited = await ask('L', 'auditLogs', {
      occurredAt: { lessThan: '2999-01-01T00:00:00Z' },
      rowId: { equalTo: idOf['a new log'] },
    });
    expect(audited.data.auditLogs.nodes[0]).toMatchObject({ operation: 'INSERT', rowId: idOf['a new log'] });
    const { data, errors } = await gateway.graphql(
      'C',
      `{ facts { nodes { subject evidence(filter: { packetId: { isNull: false } }) { totalCount }
           none: evidence(filter: { packetId: { equalTo: "${MISSING}" } }) { totalCount } } } }`,
    );
    expect(errors, JSON.stringify(errors)).toBeUndefined();
    expect(data.facts.nodes).toContainEqual({
      subject: 'billing',
      evidence: { totalCount: 1 },
      none: { totalCount: 0 },
    });
  });

  const schemaOf = async (caller: string) => {
    const { data } = await gateway.graphql(caller, getIntrospectionQuery());
    return buildClientSchema(data);
  };
  /** The lists of rows that the root and `admin` offer: the fields that have pages and no other argument. */
  const listsIn = (schema: GraphQLSchema, type = 'Query') =>
    Object.values((schema.getType(type) as GraphQLObjectType).getFields()).filter(
      ({ args, description }) => args.some(({ name }) => name === 'first') && !description,
    );

  it('is an argument of every list of rows, and there is no other way to compare columns', async () => {
    const schema = await schemaOf('L');
    const lists = [...listsIn(schema), ...listsIn(schema, 'AdminQuery')];
    expect(lists.length).toBeGreaterThan(45);
    const without = lists.filter(({ args }) => !args.some(({ name }) => name === 'filter')).map(({ name }) => name);
    // A tenant has one row of each of these.
    expect(without.filter((name) => !name.endsWith('Settings'))).toStrictEqual([]);
    const others = Object.values(schema.getTypeMap())
      .filter(isObjectType)
      .flatMap((type) => Object.values(type.getFields()).flatMap(({ args }) => args.map(({ name }) => name)))
      .filter((name) => name === 'condition');
    expect(others).toStrictEqual([]);
    expect(Object.keys(schema.getTypeMap()).filter((name) => name.endsWith('Condition'))).toStrictEqual([]);
  });

  it('compares only, by one type for each scalar, with leakproof operators on the columns of tables', async () => {
    const schema = await schemaOf('C');
    const filters = Object.values(schema.getTypeMap()).filter(isInputObjectType);
    const scalars = filters.filter((type) => /^[A-Za-z0-9]+Filter$/.test(type.name) && !('and' in type.getFields()));
    const comparisons = [
      'equalTo',
      'greaterThan',
      'greaterThanOrEqualTo',
      'in',
      'isNull',
      'lessThan',
      'lessThanOrEqualTo',
    ];
    expect(
      Object.fromEntries(scalars.map((type) => [type.name, Object.keys(type.getFields()).toSorted()])),
    ).toStrictEqual({
      ...Object.fromEntries(
        ['BigFloat', 'BigInt', 'Date', 'Datetime', 'Float', 'Int', 'String', 'UUID'].map((name) => [
          `${name}Filter`,
          comparisons,
        ]),
      ),
      BooleanFilter: ['equalTo', 'in', 'isNull'],
    });
    const leaking = await gateway.asSuperuser(
      `select distinct o.oprleft::regtype::text as type from pg_operator o join pg_proc p on p.oid = o.oprcode
       where o.oprleft = o.oprright and o.oprname in ('=', '<', '<=', '>', '>=') and not p.proleakproof
         and o.oprleft in (select unnest('{text,uuid,bool,int4,int8,float4,float8,date,timestamptz,numeric}'::regtype[]))`,
    );
    // The views of kinds have numeric columns, which PostgreSQL compares after the policies; no index of a table holds one.
    expect(leaking).toStrictEqual([{ type: 'numeric' }]);
    const indexed = await gateway.asSuperuser(
      `select a.attrelid::regclass::text as table, a.attname from pg_index i
         join pg_class c on c.oid = i.indrelid and c.relnamespace = 'public'::regnamespace
         join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey) and a.atttypid = 'numeric'::regtype`,
    );
    expect(indexed).toStrictEqual([]);
  });

  describe('of a caller who may not see some rows', () => {
    const words = ['quincunx-', 'zeugmatic-project'];
    const textFilters = (column: string) => [
      ...words.flatMap((word) => [
        { [column]: { equalTo: word } },
        { [column]: { in: [word, 'l9', 'l-private', 'quincunx_kind', 'quincunx-thread', 'quincunx-predicate'] } },
        { [column]: { greaterThan: word } },
        { not: { [column]: { lessThanOrEqualTo: word } } },
      ]),
      { [column]: { isNull: false } },
      { or: [{ [column]: { equalTo: 'l-private' } }, { [column]: { equalTo: 'quincunx-project' } }] },
    ];
    const battery: [Connection, object][] = [
      ...['kind', 'scope', 'projectId', 'threadId']
        .flatMap(textFilters)
        .map((filter): [Connection, object] => ['memories', filter]),
      ...['subjectNormalized', 'predicate']
        .flatMap(textFilters)
        .map((filter): [Connection, object] => ['facts', filter]),
      ...['sourceNormalized', 'relationshipType', 'projectId']
        .flatMap(textFilters)
        .map((filter): [Connection, object] => ['entityRelationships', filter]),
      ['memories', { packetId: { greaterThan: MISSING } }],
      ['memories', { not: { timestamp: { lessThan: '2000-01-01T00:00:00Z' } } }],
      ['facts', { validFrom: { greaterThan: '2000-01-01T00:00:00Z' } }],
      ['entityRelationships', { confidence: { in: [0.31, 0.3, 0.77] } }],
      ['entityRelationships', { not: { confidence: { greaterThan: 0.5 } } }],
    ];
    const answers = async () => {
      const answered: unknown[] = [];
      for (const [n, [connection, filter]] of battery.entries()) {
        const { status, data, errors } = await ask('C', connection, filter, n % 2 ? 'first: 1' : 'last: 2');
        expect(errors, JSON.stringify([filter, errors])).toBeUndefined();
        answered.push([status, data]);
      }
      return answered;
    };

    /** Each list, with a filter on each of its columns. */
    const everyColumn = async () => {
      const schema = await schemaOf('C');
      const sample: Record<string, string[]> = {
        StringFilter: [
          '{ equalTo: "l-private" }',
          '{ greaterThan: "quincunx-" }',
          '{ in: ["quincunx-project", "zeugmatic-project"] }',
        ],
        UUIDFilter: [`{ greaterThan: "${MISSING}" }`],
        DatetimeFilter: ['{ greaterThan: "2000-01-01T00:00:00Z" }'],
        DateFilter: ['{ greaterThan: "2000-01-01" }'],
        BigIntFilter: ['{ greaterThan: "0" }'],
        BigFloatFilter: ['{ greaterThan: "0" }'],
        BooleanFilter: ['{ equalTo: true }', '{ equalTo: false }'],
      };
      const answered: unknown[] = [];
      for (const { name, args, type } of listsIn(schema)) {
        const row = getNamedType(
          (getNamedType(type) as GraphQLObjectType).getFields().nodes!.type,
        ) as GraphQLObjectType;
        const rows = `totalCount nodes { ${'id' in row.getFields() ? 'id' : '__typename'} }`;
        const filter = getNamedType(args.find((argument) => argument.name === 'filter')!.type);
        const columns = Object.values(isInputObjectType(filter) ? filter.getFields() : {});
        const compared = columns
          .filter((column) => !['and', 'or', 'not'].includes(column.name))
          .flatMap((column) =>
            (sample[String(column.type)] ?? ['{ greaterThan: 0 }']).map((given) => `{ ${column.name}: ${given} }`),
          );
        const lists = compared.map((given, n) => `a${n}: ${name}(filter: ${given}) { ${rows} }`);
        const { data, errors } = await gateway.graphql('C', `{ ${lists.join(' ')} }`);
        expect(errors, JSON.stringify([name, errors])).toBeUndefined();
        answered.push([name, data]);
      }
      expect(answered.length).toBeGreaterThan(25);
      return answered;
    };

    it('gives the same rows and counts for each column of each list whether those rows exist or not', async () => {
      // The vectors of the memories saved above are rows as well, and the gateway writes them after the saves.
      await gateway.embedded();
      const before = await everyColumn();
      await gateway.sql(
        'L',
        `select save_memory('quincunx', scope => 'l-private', project_id => 'quincunx-project', thread_id => 'quincunx-t'),
                assert_fact('quincunx', 'quincunx-is', '1', scope => 'l-private', project_id => 'quincunx-project'),
                reflect('quincunx fails', 'failure', scope => 'l-private', project_id => 'quincunx-project')`,
      );
      await gateway.call('L', 'memory_store', {
        items: [
          {
            kind: 'decision',
            scope: 'l-private',
            project_id: 'quincunx-project',
            data: { title: 'quincunx', status: 'accepted', context: 'c', options: ['a'], outcome: 'a', rationale: 'r' },
          },
        ],
      });
      expect(await everyColumn()).toStrictEqual(before);
    });

    it('gives the same rows, counts, pages and errors whether those rows exist or not', async () => {
      const before = await answers();
      const { ofL, ofOtherTenant, traces } = await plantHidden(gateway);
      await gateway.sql(
        'L',
        `select assert_fact('quincunx-subject', 'quincunx-predicate', '1', scope => 'l-private', project_id => 'quincunx-project'),
                relate('quincunx-a', 'quincunx-type', 'quincunx-b', 0.77, scope => 'l-private', project_id => 'quincunx-project')`,
      );
      const after = await answers();
      expect(after).toStrictEqual(before);
      assertNoTrace(JSON.stringify(after), traces, 'a filtered connection');

      for (const hidden of [ofL, ofOtherTenant]) {
        const [ofHidden, ofNone] = await Promise.all(
          [hidden.id, MISSING].map((id) =>
            gateway.graphql(
              'C',
              `query ($id: UUID!) {
                memories(filter: { or: [{ packetId: { equalTo: $id } }, { packetId: { in: [$id] } }] }) { ${PAGE} { content } }
                facts(filter: { sourcePacket: { equalTo: $id } }) { ${PAGE} { subject } }
                admin { auditLogs(filter: { rowId: { in: [$id] } }) { ${PAGE} { operation } } }
              }`,
              { id },
            ),
          ),
        );
        expect(ofHidden).toStrictEqual(ofNone);
        expect(ofHidden!.data.memories.totalCount).toBe(0);
      }
      const { data } = await ask('L', 'auditLogs', { rowId: { equalTo: ofOtherTenant.id } });
      expect(data.auditLogs.totalCount, 'an administrator sees no other tenant').toBe(0);
      const [{ n }] = await gateway.asSuperuser(
        `select count(*)::int as n from public.audit_log where row_id = $1 and tenant_id = '${OTHER_TENANT}'`,
        [ofOtherTenant.id],
      );
      expect(n).toBeGreaterThan(0);
    });
  });

  it('refuses a malformed value with a documented error', async () => {
    const refused = async (connection: Connection, filter: unknown, code?: string) => {
      const { status, data, errors } = await ask('C', connection, filter);
      const what = `${JSON.stringify(filter)}: ${JSON.stringify(errors)}`;
      expect(data?.[connection] ?? null, what).toBeNull();
      if (code) expect(errors?.[0]?.extensions?.code, what).toBe(code);
      else expect([status, errors?.[0]?.extensions?.code], what).toStrictEqual([400, 'INVALID_INPUT']);
      if (code) assertDocumented(code, what);
    };
    for (const filter of [
      { packetId: { equalTo: 'no-uuid' } },
      { kind: { equalTo: 1 } },
      { kind: { in: [null] } },
      { kind: { like: '%' } },
      { kind: { equalToInsensitive: 'note' } },
      { content: { equalTo: 'x' } },
      { tags: { contains: ['x'] } },
      { facts: { some: {} } },
      { kind: 'note' },
      { and: [null] },
    ])
      await refused('memories', filter);
    await refused('auditLogs', { queryText: { equalTo: 'C' } });
    await refused('entityRelationships', { confidence: { equalTo: 'high' } });

    for (const filter of [
      {},
      { kind: {} },
      { kind: null },
      { kind: { equalTo: null } },
      { kind: { in: null } },
      { and: [{}] },
      { not: {} },
      { or: null },
      { kind: { equalTo: 'nul \0 nul' } },
      { kind: { in: ['nul \0 nul'] } },
      { timestamp: { greaterThan: 'yesterday-ish' } },
      { timestamp: { in: ['2026-13-45T00:00:00Z'] } },
    ])
      await refused('memories', filter, 'INVALID_INPUT');
  });

  it('counts the conditions of a whole request, also those of variables and fragments', async () => {
    const ids = (n: number) => Array.from({ length: n }, () => MISSING);
    const tooMuch = async (query: string, variables: object, what: RegExp) => {
      const { status, data, errors } = await gateway.graphql('C', query, variables);
      expect([status, data, errors?.[0]?.extensions?.code]).toStrictEqual([400, undefined, 'LIMIT_EXCEEDED']);
      expect(errors![0]!.message).toMatch(what);
    };
    const list = 'query ($ids: [UUID!]) { memories(filter: { packetId: { in: $ids } }) { totalCount } }';
    expect((await gateway.graphql('C', list, { ids: ids(1_000) })).data.memories.totalCount).toBe(0);
    await tooMuch(list, { ids: ids(1_001) }, /at most 1000 conditions/);
    await tooMuch(
      `query ($f: MemoryFilter, $v: MemoryVersionFilter) { ${Array.from({ length: 11 }, (_, n) => `...F @include(if: true) a${n}: memories(first: 1) { nodes { ...S } }`).join(' ')} }
       fragment F on Query { b: memories(filter: $f) { totalCount } }
       fragment S on Memory { versions(filter: $v) { totalCount } }`,
      { f: { packetId: { in: ids(90) } }, v: { packetId: { in: ids(90) } } },
      /at most 1000 conditions/,
    );
    await tooMuch(
      `query ($f: MemoryFilter = { packetId: { in: [${ids(300).map((id) => `"${id}"`)}] } }) { ${[1, 2, 3, 4].map((n) => `a${n}: memories(filter: $f) { totalCount }`).join(' ')} }`,
      {},
      /at most 1000 conditions/,
    );
    for (const levels of [20, 500]) {
      let filter: object = { kind: { equalTo: 'note' } };
      for (let n = 0; n < levels; n++) filter = { not: filter };
      await tooMuch(
        'query ($f: MemoryFilter) { memories(filter: $f) { totalCount } }',
        { f: filter },
        /at most 20 brackets deep/,
      );
    }
    const denials = await gateway.asSuperuser(
      "select from public.audit_log where operation = 'DENIED' and caller = 'C' and sqlstate = 'L9LIM'",
    );
    expect(denials.length).toBeGreaterThanOrEqual(5);
  });
});
