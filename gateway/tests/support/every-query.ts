// A request for every query of the GraphQL schema, made from the exported schema, so that a query that is added is tested, too.
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
import type { TestGateway } from './gateway.ts';

const schema = buildSchema(readFileSync(new URL('../../schema.graphql', import.meta.url), 'utf8'));
/** Relay asks for the first two, and `admin` groups others: these read nothing themselves. */
const readNothing = ['id', 'query', 'admin'];
const fieldsOf = (type: string) => Object.values((schema.getType(type) as GraphQLObjectType).getFields());
const ofAdmin = fieldsOf('AdminQuery');
export const queries = [...fieldsOf('Query').filter(({ name }) => !readNothing.includes(name)), ...ofAdmin];
/** A request for this field, which may stand in `admin`. */
export const within = (name: string, request: string) =>
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

export const isRow = (type: GraphQLObjectType) => type.getInterfaces().some(({ name }) => name === 'Node');
export const isPage = (type: GraphQLObjectType) => type.name.endsWith('Connection');

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

/** The request for a field, and which of its arguments an audit row must name. `ids`: of saveForQueries. */
export function requestOf(field: GraphQLField<unknown, unknown>, ids: Record<string, string>) {
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

/** Saves what some queries ask for by its id. */
export async function saveForQueries(gateway: TestGateway): Promise<Record<string, string>> {
  const packetId = await gateway.save('L', 'first');
  const { stored } = await gateway.call('L', 'memory_store', {
    items: [
      { kind: 'document', project_id: 'l9', data: { title: 'A guide', source_url: 'a.md', body_md: '# A guide' } },
    ],
  });
  const ids = Object.fromEntries(
    ['getMemory', 'explainAccess', 'memoryHistory', 'memoryByPacketId'].map((query) => [query, packetId]),
  );
  return { ...ids, getDocument: stored[0].packet_id };
}
