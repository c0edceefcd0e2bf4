// Every query of the GraphQL schema leaves exactly one audit row, which names the project and scope that it asked for. The
// requests are made from the exported schema, so a query that is added is tested, too.
import { readFileSync } from 'node:fs';
import {
  buildSchema,
  type GraphQLField,
  type GraphQLObjectType,
  getNamedType,
  isEnumType,
  isNonNullType,
  isObjectType,
  isScalarType,
} from 'postgraphile/graphql';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

const schema = buildSchema(readFileSync(new URL('../../schema.graphql', import.meta.url), 'utf8'));
/** Relay asks for these two, which read nothing themselves. */
const readNothing = ['id', 'query'];
const queries = Object.values(schema.getQueryType()!.getFields()).filter(({ name }) => !readNothing.includes(name));

const NOWHERE = '00000000-0000-4000-8000-000000000000';
const project = { projectId: 'l9', scope: 'developer' };
/** Arguments of queries that refuse to run without them. */
const needed: Record<string, Record<string, unknown>> = {
  diffWorld: { a: '0' },
  explainAccess: { caller: 'C' },
  estimateStorageCost: { bytes: 1000 },
  findSecrets: { content: 'nothing secret' },
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
  const selection = isObjectType(type) ? select(type) : '{ id }';
  return {
    query: `query Asked ${declared && `(${declared})`} { ${field.name} ${args && `(${args})`} ${selection} }`,
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
      ...['auditArchive', 'auditArchiveByTableName', 'auditArchives'],
      ...['auditSeal', 'auditSealBySealHash', 'auditSealBySealId', 'auditSeals'],
      // There is no such session.
      'retrieveSessionFromCascade',
    ]);
  });
});
