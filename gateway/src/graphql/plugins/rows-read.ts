// Counts the rows of each table or function in a GraphQL answer, by walking the answer along its query. So that it knows which
// memories an answer holds, whatever the query selects, the query is extended before it runs, and the answer is cut back after it.
import {
  type DocumentNode,
  type FieldNode,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  type InlineFragmentNode,
  isInterfaceType,
  isObjectType,
  Kind,
  type SelectionSetNode,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'postgraphile/graphql';
import { argumentsOf, toObject } from './arguments.ts';
import { type Asked, fieldsIn } from './selections.ts';

/** What stands for what in the schema. */
export interface Sources {
  /** The tables by the types that stand for their rows. */
  tables: ReadonlyMap<string, string>;
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
  /** Ids of the memories among these rows. */
  memoryIds: Set<string>;
  /** The project and scope that the query asks for, or the only ones of these memories; else null. */
  projectId: string | null;
  scope: string | null;
}

/** The aliases under which an extended query selects what is recorded of a memory. */
export interface Extension {
  packetId: string;
  projectId: string;
  scope: string;
}

export interface Request extends Asked {
  schema: GraphQLSchema;
  extension: Extension;
  /** The paths of the answer, without places in lists, at or above which an error stands. */
  failed: ReadonlySet<string>;
}

/**
 * The document with the fields that are recorded of a memory added wherever it selects from one. `memoryTypes` are the
 * types whose rows are memories.
 */
export function extendDocument(schema: GraphQLSchema, document: DocumentNode, memoryTypes: ReadonlySet<string>) {
  const aliases = new Set<string>();
  visit(document, { Field: (node) => void aliases.add(node.alias?.value ?? node.name.value) });
  let prefix = 'audited';
  while ([...aliases].some((alias) => alias.startsWith(`${prefix}_`))) prefix += '_';
  const extension = { packetId: `${prefix}_packetId`, projectId: `${prefix}_projectId`, scope: `${prefix}_scope` };
  const fields = Object.entries(extension).map(
    ([name, alias]): FieldNode => ({
      kind: Kind.FIELD,
      name: { kind: Kind.NAME, value: name },
      alias: { kind: Kind.NAME, value: alias },
    }),
  );
  const ofMemories = [...memoryTypes].map(
    (type): InlineFragmentNode => ({
      kind: Kind.INLINE_FRAGMENT,
      typeCondition: { kind: Kind.NAMED_TYPE, name: { kind: Kind.NAME, value: type } },
      selectionSet: { kind: Kind.SELECTION_SET, selections: fields },
    }),
  );
  const types = new TypeInfo(schema);
  const extended: DocumentNode = visit(
    document,
    visitWithTypeInfo(types, {
      SelectionSet: {
        leave(node) {
          const type = types.getParentType();
          if (type && memoryTypes.has(type.name)) return { ...node, selections: [...node.selections, ...fields] };
          const memory = schema.getType('Memory');
          if (isInterfaceType(type) && isObjectType(memory) && schema.isSubType(type, memory))
            return { ...node, selections: [...node.selections, ...ofMemories] };
          return undefined;
        },
      },
    }),
  );
  return { document: extended, extension };
}

type Value = Record<string, unknown>;
/** Rows that are not counted by their type: under the name of the function that returned them or, if null, not at all. */
type Direct = { name: string | null } | undefined;

const isPage = ({ name }: GraphQLObjectType) => name.endsWith('Connection') || name.endsWith('Edge');

export function rowsRead(request: Request, data: unknown, { tables, queries, attributes }: Sources): RowsRead {
  const { schema, operation, fragments, variables, extension, failed } = request;
  const counts = new Map<string, number>();
  const totals = new Map<string, number>();
  const memoryIds = new Set<string>();
  // Of the memories in the answer; null is a memory without a project.
  const projects = new Set<string | null>();
  const scopes = new Set<string | null>();
  const askedProjects = new Set<string>();
  const askedScopes = new Set<string>();
  const add = (name: string, n: number) => counts.set(name, (counts.get(name) ?? 0) + n);

  /** Takes out of a memory what the extended query selects beyond the query of the caller. */
  const takeOut = (memory: Value, isAudited: boolean) => {
    if (!isAudited) {
      memoryIds.add(String(memory[extension.packetId]));
      projects.add(memory[extension.projectId] as string | null);
      scopes.add(memory[extension.scope] as string | null);
    }
    for (const alias of Object.values(extension)) delete memory[alias];
  };

  const walk = (
    type: GraphQLObjectType,
    value: Value,
    selections: readonly SelectionSetNode[],
    path: string,
    direct: Direct,
  ) => {
    const name = nameOf(type, direct);
    if (name && !isPage(type)) add(name, 1);
    // Rows of the views of kinds and versions are memories too.
    if (extension.packetId in value) takeOut(value, direct?.name === null);
    for (const [key, nodes] of fieldsIn(schema, fragments, type, selections)) {
      const node = nodes[0]!;
      const field = type.getFields()[node.name.value];
      if (!field || !(key in value)) continue;
      const here = `${path}.${key}`;
      if (isPage(type) && field.name === 'totalCount' && name) totals.set(name, Number(value[key]));
      const named = getNamedType(field.type);
      const below = nodes.flatMap((node) => (node.selectionSet ? [node.selectionSet] : []));
      // What was refused is audited as refused.
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
    if (parent === schema.getQueryType()) {
      const source = queries.get(field);
      if (source?.isAudited) return { name: null };
      return source && !tables.has((rowOf(type) ?? type).name) ? { name: source.name } : undefined;
    }
    // Rows that a mutation returns because it wrote them are audited as written.
    if (parent.name.endsWith('Payload')) return { name: null };
    if (isPage(parent)) return direct;
    return direct?.name === null && attributes.has(`${parent.name}.${field}`) ? direct : undefined;
  };

  // An empty list is audited too, with a count of 0.
  const noteAsked = (name: string, node: FieldNode) => {
    add(name, 0);
    const given = argumentsOf(node, variables);
    for (const { projectId, scope } of [given, toObject(given.condition)]) {
      if (typeof projectId === 'string' && projectId !== '') askedProjects.add(projectId);
      if (typeof scope === 'string' && scope !== '') askedScopes.add(scope);
    }
  };
  /** The type of the rows on a page. */
  const rowOf = (page: GraphQLObjectType) => {
    const { nodes, node } = isPage(page) ? page.getFields() : {};
    const row = (nodes ?? node) && getNamedType((nodes ?? node)!.type);
    return isObjectType(row) ? row : null;
  };

  const root = operation.operation === 'mutation' ? schema.getMutationType() : schema.getQueryType();
  if (root && typeof data === 'object' && data !== null)
    walk(root, data as Value, [operation.selectionSet], '', undefined);
  return {
    counts,
    totals,
    memoryIds,
    projectId: only(projects, askedProjects),
    scope: only(scopes, askedScopes),
  };
}

/** What the query asks for, or the only value in the answer. A query for a project also gets what belongs to none. */
function only(returned: ReadonlySet<string | null>, asked: ReadonlySet<string>): string | null {
  const all = new Set([...returned, ...asked]);
  if (asked.size === 1) all.delete(null);
  return all.size === 1 ? [...all][0]! : null;
}

function each(value: unknown, visit: (entry: Value) => void) {
  if (Array.isArray(value)) for (const entry of value) each(entry, visit);
  else if (typeof value === 'object' && value !== null) visit(value as Value);
}

/** The type that `node(id: …)` requests: an id is the Base64 of a list that begins with the type. */
function typeOfNodeId(field: FieldNode, variables: Readonly<Record<string, unknown>>): string | null {
  const given = field.arguments?.find(({ name }) => name.value === 'id')?.value;
  const id =
    given?.kind === Kind.STRING ? given.value : given?.kind === Kind.VARIABLE ? variables[given.name.value] : null;
  try {
    const [type] = JSON.parse(Buffer.from(String(id), 'base64').toString('utf8')) as unknown[];
    return typeof type === 'string' ? type : null;
  } catch {
    return null;
  }
}
