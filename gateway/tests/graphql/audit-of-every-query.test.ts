// Every query of the GraphQL schema leaves exactly one audit row, which names the project and scope that it asked for. The
// requests are made from the exported schema, so a query that is added is tested, too.
import { readFileSync } from 'node:fs';
import {
  buildSchema,
  type GraphQLField,
  type GraphQLObjectType,
  getNamedType,
  isEnumType,
  isLeafType,
  isNonNullType,
  isObjectType,
  isScalarType,
} from 'postgraphile/graphql';
import { saveSomethingOfEverything } from '../hostile/something-of-everything.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

const schema = buildSchema(readFileSync(new URL('../../schema.graphql', import.meta.url), 'utf8'));
/** Relay asks for the first two, and `admin` groups others: these read nothing themselves. */
const readNothing = ['id', 'query', 'admin'];
const fieldsOf = (type: string) => Object.values((schema.getType(type) as GraphQLObjectType).getFields());
const ofAdmin = fieldsOf('AdminQuery');
const queries = [...fieldsOf('Query').filter(({ name }) => !readNothing.includes(name)), ...ofAdmin];
/** A request for this field, which may stand in `admin`. */
const within = (name: string, request: string) =>
  ofAdmin.some((field) => field.name === name) ? `admin { ${request} }` : request;

const NOWHERE = '00000000-0000-4000-8000-000000000000';
const project = { projectId: 'l9', scope: 'developer' };
/** Arguments of queries that refuse to run without them. */
const needed: Record<string, Record<string, unknown>> = {
  diffWorld: { a: '0' },
  explainAccess: { caller: 'C' },
  exportMemories: { kind: 'memory' },
  estimateStorageCost: { bytes: 1000 },
  findSecrets: { content: 'nothing secret' },
  memoryDays: { since: '2026-01-01T00:00:00Z' },
  memoryFind: { query: 'first' },
  recallLessons: { query: 'first' },
  searchMemory: { query: 'first' },
  traceOf: { traceId: 'trace-1' },
};
const byType: Record<string, unknown> = {
  UUID: NOWHERE,
  String: 'nothing',
  Base64EncodedBinary: 'AA==',
  BigInt: '1',
  Int: 1,
  Date: '2026-01-01',
  Datetime: '2026-01-01T00:00:00Z',
};

const isRow = (type: GraphQLObjectType) => type.getInterfaces().some(({ name }) => name === 'Node');
const isPage = (type: GraphQLObjectType) => type.name.endsWith('Connection');

/** Selects all values of a type, and those of objects within it, but no rows of other tables. */
function select(type: GraphQLObjectType, depth = 0): string {
  const fields = Object.values(type.getFields()).flatMap((field) => {
    const named = getNamedType(field.type);
    if (field.args.some(({ type }) => isNonNullType(type))) return [];
    if (isScalarType(named) || isEnumType(named)) return [field.name];
    if (!isObjectType(named) || depth > 2) return [];
    const belongs = isPage(type) ? ['nodes', 'pageInfo'].includes(field.name) : !isPage(named) && !isRow(named);
    return belongs ? [`${field.name} ${select(named, depth + 1)}`] : [];
  });
  return `{ ${['__typename', ...fields].join(' ')} }`;
}

function request(field: GraphQLField<unknown, unknown>, ids: Record<string, string>) {
  const type = getNamedType(field.type);
  const nodeId = Buffer.from(JSON.stringify([isObjectType(type) ? type.name : 'Memory', NOWHERE])).toString('base64');
  const given: Record<string, unknown> = { ...project, ...needed[field.name], id: nodeId };
  if (field.name in ids) given.packetId = ids[field.name];
  const passed = field.args.flatMap(({ name, type }) => {
    const value = given[name] ?? (isNonNullType(type) ? byType[getNamedType(type).name] : undefined);
    return value === undefined ? [] : [{ name, type, value }];
  });
  const declared = passed.map(({ name, type }) => `$${name}: ${type}`).join(', ');
  const args = passed.map(({ name }) => `${name}: $${name}`).join(', ');
  const selection = isObjectType(type) ? select(type) : isLeafType(type) ? '' : '{ id }';
  return {
    query: `query Asked ${declared && `(${declared})`} { ${within(field.name, `${field.name} ${args && `(${args})`} ${selection}`)} }`,
    variables: Object.fromEntries(passed.map(({ name, value }) => [name, value])),
    asked: Object.fromEntries(passed.filter(({ name }) => name in project).map(({ name, value }) => [name, value])),
  };
}

describe('the audit of every query', () => {
  let gateway: TestGateway;
  const ids: Record<string, string> = {};
  const seen = new Set<string>();
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
    const packetId = await gateway.save('L', 'first');
    const { stored } = await gateway.call('L', 'memory_store', {
      items: [
        { kind: 'document', project_id: 'l9', data: { title: 'A guide', source_url: 'a.md', body_md: '# A guide' } },
      ],
    });
    for (const query of ['getMemory', 'explainAccess', 'memoryHistory', 'memoryByPacketId']) ids[query] = packetId;
    ids.getDocument = stored[0].packet_id;
    await rows();
  });
  afterAll(() => gateway.close());

  /** The audit rows of requests since the last call. */
  const rows = async () => {
    const all = await gateway.sql(
      'L',
      `select audit_id::text, operation, status, project_id, scope, details from public.audit_log where caller = 'L'`,
    );
    const added = all.filter(({ audit_id }) => !seen.has(audit_id));
    for (const { audit_id } of added) seen.add(audit_id);
    return added;
  };

  it('leaves one row, with the project and scope that it asked for', async () => {
    const wrong: object[] = [];
    const refused: string[] = [];
    for (const field of queries) {
      const { query, variables, asked } = request(field, ids);
      const { errors } = await gateway.graphql('L', query, variables);
      if (errors) refused.push(field.name);
      const added = await rows();
      const [{ status, project_id, scope } = {} as Record<string, unknown>] = added;
      const isRight =
        added.length === 1 &&
        status === (errors ? 'error' : 'success') &&
        (!asked.projectId || project_id === asked.projectId) &&
        (!asked.scope || scope === asked.scope);
      if (!isRight) wrong.push({ query: field.name, errors, added });
    }
    expect(wrong).toStrictEqual([]);
    expect(refused.toSorted()).toStrictEqual([
      // Only platform admins read these.
      ...['auditArchives', 'auditSeals'],
      // There is no such session.
      'retrieveSessionFromCascade',
    ]);
  });

  /** The keys of rows by their node ids, without the tenant: the ids by which an audit row names them. */
  const keysIn = (nodeIds: string[]) =>
    nodeIds.map((id) => JSON.parse(Buffer.from(id, 'base64').toString('utf8')).slice(1) as unknown[]);

  it('records the ids of the rows of each list, also if the answer has only their types or cursors', async () => {
    await saveSomethingOfEverything(gateway);
    const [{ tenant_id }] = await gateway.sql('L', 'select identity.current_tenant_id() as tenant_id');
    await rows();
    const lists = queries.filter(({ type, args }) => {
      const named = getNamedType(type) as GraphQLObjectType;
      const row = isPage(named) ? getNamedType(named.getFields().nodes!.type) : named;
      return args.some(({ name }) => name === 'filter') && isObjectType(row) && isRow(row);
    });
    expect(lists.length).toBeGreaterThan(40);
    const wrong: object[] = [];
    const filled: string[] = [];
    for (const { name, type } of lists) {
      const named = getNamedType(type) as GraphQLObjectType;
      const ask = async (selection: string, more = '') => {
        const request = within(name, `${name}(first: 3) { ${selection} }`);
        const { data, errors } = await gateway.graphql('L', `{ ${request} }${more}`);
        return { data: data?.admin ?? data, errors };
      };
      // Rows of the log itself are added by each request, so the pages begin at the first rows.
      const page = (await ask(isPage(named) ? 'totalCount nodes { id }' : 'id')).data[name];
      await rows();
      const found: { id: string }[] = (isPage(named) ? page?.nodes : page) ?? [];
      if (found.length === 0) continue;
      filled.push(name);
      const keys = keysIn(found.map(({ id }) => id));
      const ids = keys.map((key) => String(key.find((part) => part !== tenant_id) ?? tenant_id));
      const selections: [string, (string | undefined)[]][] = !isPage(named)
        ? [
            ['__typename', ids],
            ['...Row', ids],
            ['id @skip(if: true)', ids],
          ]
        : [
            ['nodes { __typename }', ids],
            ['pageInfo { startCursor }', ids.slice(0, 1)],
            ['pageInfo { endCursor }', ids.slice(-1)],
            ['nodes @include(if: false) { id } pageInfo { from: startCursor to: endCursor }', [ids[0], ids.at(-1)]],
            ['pageInfo { hasNextPage }', []],
            ['totalCount', []],
          ];
      if ('edges' in named.getFields())
        selections.push(
          ['edges { cursor }', ids],
          ['edges { ...Cursor }', ids],
          ['edges { cursor node @skip(if: true) { __typename } }', ids],
          ['edges { node { __typename } }', ids],
        );
      for (const [selection, shown] of selections) {
        const edge = named.name.replace(/Connection$/, 'Edge');
        const fragment = selection.includes('...Cursor')
          ? ` fragment Cursor on ${edge} { cursor }`
          : selection === '...Row'
            ? ` fragment Row on ${named.name} { __typename }`
            : '';
        const { data, errors } = await ask(selection, fragment);
        const [{ details } = { details: {} }] = await rows();
        const isRight =
          !errors &&
          JSON.stringify(details.ids) === JSON.stringify([...new Set(shown)]) &&
          (selection !== 'totalCount' || Object.values(details.totals)[0] === data[name].totalCount) &&
          !JSON.stringify(data).includes('audited_');
        if (!isRight) wrong.push({ name, selection, shown, details, data, errors });
      }
    }
    expect(wrong).toStrictEqual([]);
    expect(filled).toStrictEqual(
      expect.arrayContaining([
        ...['memories', 'facts', 'reflections', 'memorySummaries', 'memoryEmbeddings', 'taskReflections', 'documents'],
        ...[
          'entityRelationships',
          'worldModelEntities',
          'memoryVersions',
          'memoryAccesses',
          'actors',
          'scopes',
          'auditLogs',
        ],
      ]),
    );
  });
});
