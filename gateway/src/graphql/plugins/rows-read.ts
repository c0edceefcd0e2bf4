// Counts the rows of each table or function in a GraphQL answer, by walking the answer along its query. So that it knows which
// rows an answer shows, whatever the query selects, the query is extended before it runs, and the answer is cut back after it.
import {
  type DocumentNode,
  type FieldNode,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  type InlineFragmentNode,
  isInterfaceType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  type SelectionSetNode,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'postgraphile/graphql';
import { isObject } from '../../operations/read-input.ts';
import { ADMIN_MUTATION, ADMIN_QUERY } from './admin.ts';
import { argumentsOf, toObject, valueInFilter } from './arguments.ts';
import { type Asked, fieldsIn } from './selections.ts';

/** The tables and functions that types and fields of the schema stand for. */
export interface Sources {
  /** The tables by the types that stand for their rows. */
  tables: ReadonlyMap<string, string>;
  /** The fields that identify a row, by its type. */
  keys: Keys;
  /** The functions behind fields of Query. Those that write an audit row of their own are `isAudited`. */
  queries: ReadonlyMap<string, { name: string; isAudited: boolean }>;
  /** The fields (as `Type.field`) whose values belong to the row that has them, and are not rows of another table. */
  attributes: ReadonlySet<string>;
}

export interface RowsRead {
  /** Rows in the answer by table or function; 0 if it was asked and nothing was found. */
  counts: Map<string, number>;
  /** Requested `totalCount`s by table or function. */
  totals: Map<string, number>;
  /** Ids of these rows, and of the rows whose cursors the answer has. */
  ids: Set<string>;
  /** The project and scope that the query asks for, or the only ones of these rows; else null. */
  projectId: string | null;
  scope: string | null;
}

/** By type, the name of the field with the id of a row. */
export type Keys = ReadonlyMap<string, string>;

/** The aliases under which an extended query selects what is recorded of a row. */
export interface Extension {
  id: string;
  projectId: string;
  scope: string;
  /** The row of an edge, and the rows of a page, because cursors hold ids, too. */
  node: string;
  nodes: string;
}

export interface Request extends Asked {
  schema: GraphQLSchema;
  extension: Extension;
  /** The paths of the answer, without places in lists, at or above which an error stands. */
  failed: ReadonlySet<string>;
}

/** The document with what is recorded of a row added wherever it selects from a row, an edge or a page. */
export function extendDocument(schema: GraphQLSchema, document: DocumentNode, keys: Keys) {
  const aliases = new Set<string>();
  visit(document, { Field: (node) => void aliases.add(node.alias?.value ?? node.name.value) });
  let prefix = 'audited';
  while ([...aliases].some((alias) => alias.startsWith(`${prefix}_`))) prefix += '_';
  const extension: Extension = {
    id: `${prefix}_id`,
    projectId: `${prefix}_projectId`,
    scope: `${prefix}_scope`,
    node: `${prefix}_node`,
    nodes: `${prefix}_nodes`,
  };
  const select = (name: string, alias: string, selections?: readonly FieldNode[]): FieldNode => ({
    kind: Kind.FIELD,
    name: { kind: Kind.NAME, value: name },
    alias: { kind: Kind.NAME, value: alias },
    ...(selections && { selectionSet: { kind: Kind.SELECTION_SET, selections } }),
  });
  const ofRow = (type: GraphQLNamedType | null | undefined): FieldNode[] => {
    const key = type && keys.get(type.name);
    if (!key || !isObjectType(type)) return [];
    const owner = (['projectId', 'scope'] as const).filter((name) => name in type.getFields());
    return [select(key, extension.id), ...owner.map((name) => select(name, extension[name]))];
  };
  const ofRowsIn = (page: GraphQLObjectType, name: 'node' | 'nodes'): FieldNode[] => {
    const fields = ofRow(rowOf(page));
    return fields.length > 0 && name in page.getFields() ? [select(name, extension[name], fields)] : [];
  };
  const ofSelection = (type: unknown, { selections }: SelectionSetNode): (FieldNode | InlineFragmentNode)[] => {
    if (isInterfaceType(type)) return schema.getPossibleTypes(type).flatMap((row) => onType(row.name, ofRow(row)));
    if (!isObjectType(type)) return [];
    if (isEdge(type)) return ofRowsIn(type, 'node');
    if (!isPage(type)) return ofRow(type);
    const selected = selections.filter((node) => node.kind === Kind.FIELD);
    const hasPageInfo = selected.some(({ name }) => name.value === 'pageInfo');
    const hasRows = selected.some(
      ({ name, directives }) => ['nodes', 'edges'].includes(name.value) && !directives?.length,
    );
    return hasPageInfo && !hasRows ? ofRowsIn(type, 'nodes') : [];
  };
  const types = new TypeInfo(schema);
  const extended: DocumentNode = visit(
    document,
    visitWithTypeInfo(types, {
      SelectionSet: {
        leave(node) {
          const added = ofSelection(types.getParentType(), node);
          return added.length > 0 ? { ...node, selections: [...node.selections, ...added] } : undefined;
        },
      },
    }),
  );
  return { document: extended, extension };
}

/** Whether an operation asks only for values of functions that audit what they read: then its answer has no other rows. */
export const auditsItself = (operation: OperationDefinitionNode, queries: Sources['queries']): boolean =>
  operation.operation === OperationTypeNode.QUERY &&
  operation.selectionSet.selections.every(
    (node) =>
      node.kind === Kind.FIELD &&
      queries.get(node.name.value)?.isAudited === true &&
      (node.selectionSet?.selections ?? []).every((below) => below.kind === Kind.FIELD && !below.selectionSet),
  );

type Value = Record<string, unknown>;
type Fields = ReadonlyMap<string, readonly FieldNode[]>;
/** Rows that are not counted by their type: under the name of the function that returned them or, if null, not at all. */
type Direct = { name: string | null } | undefined;

const onType = (type: string, selections: readonly FieldNode[]): InlineFragmentNode[] =>
  selections.length === 0
    ? []
    : [
        {
          kind: Kind.INLINE_FRAGMENT,
          typeCondition: { kind: Kind.NAMED_TYPE, name: { kind: Kind.NAME, value: type } },
          selectionSet: { kind: Kind.SELECTION_SET, selections },
        },
      ];

const isEdge = (type: GraphQLObjectType) => 'cursor' in type.getFields() && 'node' in type.getFields();
/** A connection or an edge of one. */
const isPage = (type: GraphQLObjectType) => 'pageInfo' in type.getFields() || isEdge(type);
/** The type of the rows on a page. */
function rowOf(page: GraphQLObjectType): GraphQLObjectType | null {
  const { nodes, node } = isPage(page) ? page.getFields() : {};
  const row = (nodes ?? node) && getNamedType((nodes ?? node)!.type);
  return isObjectType(row) ? row : null;
}

export function rowsRead(request: Request, data: unknown, { tables, queries, attributes }: Sources): RowsRead {
  const { schema, operation, fragments, variables, extension, failed } = request;
  const counts = new Map<string, number>();
  const totals = new Map<string, number>();
  const ids = new Set<string>();
  // Of the rows in the answer; null is a row without a project.
  const projects = new Set<string | null>();
  const scopes = new Set<string | null>();
  const askedProjects = new Set<string>();
  const askedScopes = new Set<string>();
  const add = (name: string, n: number) => counts.set(name, (counts.get(name) ?? 0) + n);

  const note = (row: Value, isAudited: boolean) => {
    if (isAudited) return;
    ids.add(String(row[extension.id]));
    if (extension.projectId in row) projects.add(textOrNull(row[extension.projectId]));
    if (extension.scope in row) scopes.add(textOrNull(row[extension.scope]));
  };

  /** Notes the rows whose cursors a page or an edge has, unless the rows are in the answer themselves. */
  const noteCursors = (type: GraphQLObjectType, value: Value, fields: Fields, direct: Direct) => {
    const name = nameOf(type, direct);
    const noteCursorOf = (row: Value) => {
      if (name) add(name, 1);
      note(row, direct?.name === null);
    };
    const answered = (name: string) => [...fields].filter(([key, [node]]) => key in value && node?.name.value === name);
    if (isEdge(type)) {
      if (answered('node').length === 0) each(value[extension.node], noteCursorOf);
    } else if (answered('nodes').length === 0 && answered('edges').length === 0) {
      const rows: Value[] = [];
      each(value[extension.nodes], (row) => rows.push(row));
      const shown = new Set<Value | undefined>();
      for (const [key, nodes] of answered('pageInfo')) {
        const info = toObject(value[key]);
        const selections = nodes.flatMap((node) => node.selectionSet ?? []);
        const pageInfo = getNamedType(type.getFields().pageInfo!.type);
        if (!isObjectType(pageInfo)) continue;
        for (const [key, [node]] of fieldsIn(schema, fragments, pageInfo, selections)) {
          if (typeof info[key] !== 'string') continue;
          if (node?.name.value === 'startCursor') shown.add(rows[0]);
          if (node?.name.value === 'endCursor') shown.add(rows.at(-1));
        }
      }
      for (const row of shown) if (row) noteCursorOf(row);
    }
  };

  const walk = (
    type: GraphQLObjectType,
    value: Value,
    selections: readonly SelectionSetNode[],
    path: string,
    direct: Direct,
  ) => {
    const name = nameOf(type, direct);
    const fields = fieldsIn(schema, fragments, type, selections);
    if (isPage(type)) noteCursors(type, value, fields, direct);
    else if (name) add(name, 1);
    if (extension.id in value) note(value, direct?.name === null);
    for (const alias of Object.values(extension)) delete value[alias];
    for (const [key, nodes] of fields) {
      const node = nodes[0]!;
      const field = type.getFields()[node.name.value];
      if (!field || !(key in value)) continue;
      const here = `${path}.${key}`;
      if (isPage(type) && field.name === 'totalCount' && name) totals.set(name, Number(value[key]));
      const named = getNamedType(field.type);
      const below = nodes.flatMap((node) => (node.selectionSet ? [node.selectionSet] : []));
      // A refused field is audited as refused, not as read.
      const isRefused = value[key] === null && failed.has(here);
      if (isObjectType(named)) {
        const directBelow = directOf(type, field.name, named, direct);
        const nameBelow = nameOf(named, directBelow);
        if (nameBelow && !isRefused && !isPage(type)) noteAsked(nameBelow, node);
        each(value[key], (entry) => walk(named, entry, below, here, directBelow));
      } else if (isInterfaceType(named)) {
        const concrete = schema.getType(typeOfNodeId(node, variables) ?? '');
        if (!isRefused) add((isObjectType(concrete) && tables.get(concrete.name)) || named.name, 0);
        each(value[key], (entry) => {
          if (isObjectType(concrete)) walk(concrete, entry, below, here, undefined);
          else add(named.name, 1);
        });
      }
    }
  };

  /** The table or function by which rows of this type, or those on this page, are counted. */
  const nameOf = (type: GraphQLObjectType, direct: Direct): string | null =>
    direct ? direct.name : (tables.get((rowOf(type) ?? type).name) ?? null);

  const directOf = (parent: GraphQLObjectType, field: string, type: GraphQLObjectType, direct: Direct): Direct => {
    if (parent === schema.getQueryType() || parent.name === ADMIN_QUERY) {
      const source = queries.get(field);
      if (source?.isAudited) return { name: null };
      return source && !tables.has((rowOf(type) ?? type).name) ? { name: source.name } : undefined;
    }
    // Rows that a mutation returns because it wrote them are audited as written.
    if (parent.name.endsWith('Payload') || parent.name === ADMIN_MUTATION) return { name: null };
    if (isPage(parent)) return direct;
    return direct?.name === null && attributes.has(`${parent.name}.${field}`) ? direct : undefined;
  };

  // An empty list is audited too, with a count of 0.
  const noteAsked = (name: string, node: FieldNode) => {
    add(name, 0);
    const given = argumentsOf(node, variables);
    for (const [name, asked] of [
      ['projectId', askedProjects],
      ['scope', askedScopes],
    ] as const) {
      const value = given[name] ?? valueInFilter(given.filter, name);
      if (typeof value === 'string' && value !== '') asked.add(value);
    }
  };

  const root = operation.operation === 'mutation' ? schema.getMutationType() : schema.getQueryType();
  if (root && isObject(data)) walk(root, data, [operation.selectionSet], '', undefined);
  return {
    counts,
    totals,
    ids,
    projectId: only(projects, askedProjects),
    scope: only(scopes, askedScopes),
  };
}

/** The value that the query asks for, or the only one in the answer. A query for a project also gets rows without a project. */
function only(returned: ReadonlySet<string | null>, asked: ReadonlySet<string>): string | null {
  const all = new Set([...returned, ...asked]);
  if (asked.size === 1) all.delete(null);
  return all.size === 1 ? [...all][0]! : null;
}

const textOrNull = (value: unknown) => (typeof value === 'string' ? value : null);

function each(value: unknown, visit: (entry: Value) => void) {
  if (Array.isArray(value)) for (const entry of value) each(entry, visit);
  else if (isObject(value)) visit(value);
}

/** The type that `node(id: …)` requests: an id is the Base64 of a list that begins with the type. */
function typeOfNodeId(field: FieldNode, variables: Readonly<Record<string, unknown>>): string | null {
  const given = field.arguments?.find(({ name }) => name.value === 'id')?.value;
  const id =
    given?.kind === Kind.STRING ? given.value : given?.kind === Kind.VARIABLE ? variables[given.name.value] : null;
  try {
    const [type]: unknown[] = JSON.parse(Buffer.from(String(id), 'base64').toString('utf8'));
    return typeof type === 'string' ? type : null;
  } catch {
    return null;
  }
}
