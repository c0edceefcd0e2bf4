// Every query of the GraphQL schema leaves exactly one audit row, which names the project and scope that it asked for.
import { type GraphQLObjectType, getNamedType, isObjectType } from 'postgraphile/graphql';
import { saveSomethingOfEverything } from '../hostile/something-of-everything.ts';
import { isPage, isRow, queries, requestOf, saveForQueries, within } from '../support/every-query.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describe('the audit of every query', () => {
  let gateway: TestGateway;
  let ids: Record<string, string>;
  const seen = new Set<string>();
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
    ids = await saveForQueries(gateway);
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
      const { query, variables, asked } = requestOf(field, ids);
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
