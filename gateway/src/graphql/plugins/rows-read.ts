// Counts the rows of each table in a GraphQL answer, by walking the answer along its query. So that it knows which memories
// an answer holds, whatever the query selects, the query is extended before it runs, and the answer is cut back after it.
import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  type InlineFragmentNode,
  isAbstractType,
  isInterfaceType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  TypeInfo,
  valueFromASTUntyped,
  visit,
  visitWithTypeInfo,
} from 'postgraphile/graphql';

export interface RowsRead {
  /** Rows in the answer by type; 0 if a type was requested and nothing was found. */
  counts: Map<string, number>;
  /** Requested `totalCount`s by type. */
  totals: Map<string, number>;
  /** Ids of the memories among these rows. */
  memoryIds: Set<string>;
  /** The projects and scopes of these memories, and those that the query asks for; null is a memory without a project. */
  projects: Set<string | null>;
  scopes: Set<string | null>;
}

/** The aliases under which an extended query selects what is recorded of a memory. */
export interface Extension {
  packetId: string;
  projectId: string;
  scope: string;
}

export interface Request {
  schema: GraphQLSchema;
  operation: OperationDefinitionNode;
  fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  variables: Readonly<Record<string, unknown>>;
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

/** `isRow` returns true for types that stand for rows of tables. */
export function rowsRead(request: Request, data: unknown, isRow: (type: GraphQLObjectType) => boolean): RowsRead {
  const { schema, operation, fragments, variables, extension, failed } = request;
  const found: RowsRead = {
    counts: new Map(),
    totals: new Map(),
    memoryIds: new Set(),
    projects: new Set(),
    scopes: new Set(),
  };
  const add = (type: string, n: number) => found.counts.set(type, (found.counts.get(type) ?? 0) + n);

  // Fields that are requested twice are one field of the answer, with the selections of both.
  const fieldsOf = (
    type: GraphQLObjectType,
    selections: readonly SelectionSetNode[],
    into = new Map<string, FieldNode[]>(),
  ) => {
    for (const { selections: nodes } of selections) {
      for (const node of nodes) {
        if (node.kind === Kind.FIELD) {
          const key = node.alias?.value ?? node.name.value;
          into.set(key, [...(into.get(key) ?? []), node]);
          continue;
        }
        const fragment = node.kind === Kind.FRAGMENT_SPREAD ? fragments.get(node.name.value) : node;
        if (!fragment) continue;
        const condition = fragment.typeCondition && schema.getType(fragment.typeCondition.name.value);
        const applies =
          !condition || condition === type || (isAbstractType(condition) && schema.isSubType(condition, type));
        if (applies) fieldsOf(type, [fragment.selectionSet], into);
      }
    }
    return into;
  };

  /** Takes out of a memory what the extended query selects beyond the query of the caller. */
  const takeOut = (memory: Value, isWritten: boolean) => {
    if (!isWritten) {
      found.memoryIds.add(String(memory[extension.packetId]));
      found.projects.add(memory[extension.projectId] as string | null);
      found.scopes.add(memory[extension.scope] as string | null);
    }
    for (const alias of Object.values(extension)) delete memory[alias];
  };

  const walk = (
    type: GraphQLObjectType,
    value: Value,
    selections: readonly SelectionSetNode[],
    path: string,
    isWritten = false,
  ) => {
    if (isRow(type) && !isWritten) add(type.name, 1);
    // Rows of the views of kinds are memories too.
    if (extension.packetId in value) takeOut(value, isWritten);
    for (const [key, nodes] of fieldsOf(type, selections)) {
      const name = nodes[0]!.name.value;
      const field = type.getFields()[name];
      if (!field || !(key in value)) continue;
      const here = `${path}.${key}`;
      const row = rowOf(type);
      if (row && name === 'totalCount') found.totals.set(row.name, Number(value[key]));
      const named = getNamedType(field.type);
      const below = nodes.flatMap((node) => (node.selectionSet ? [node.selectionSet] : []));
      if (isObjectType(named)) {
        // Rows that a mutation returns because it wrote them are audited as written.
        const isWritten = type.name.endsWith('Payload');
        // What was refused is audited as refused.
        if (!isWritten && !(value[key] === null && failed.has(here))) noteAsked(named, nodes[0]!);
        each(value[key], (entry) => walk(named, entry, below, here, isWritten));
      } else if (isInterfaceType(named)) {
        each(value[key], (entry) => {
          const concrete = schema.getType(typeOfNodeId(nodes[0]!, variables) ?? '');
          if (isObjectType(concrete)) walk(concrete, entry, below, here);
          else add(named.name, 1);
        });
      }
    }
  };

  // An empty list is audited too, with a count of 0.
  const noteAsked = (type: GraphQLObjectType, node: FieldNode) => {
    if (isRow(type)) add(type.name, 0);
    const row = rowOf(type);
    if (!row) return;
    add(row.name, 0);
    const given = node.arguments?.find(({ name }) => name.value === 'condition')?.value;
    const condition = given && valueFromASTUntyped(given, variables as Record<string, never>);
    if (typeof condition !== 'object' || condition === null) return;
    const { projectId, scope } = condition as Record<string, unknown>;
    if (typeof projectId === 'string') found.projects.add(projectId);
    if (typeof scope === 'string') found.scopes.add(scope);
  };
  /** The type of the nodes of a connection. */
  const rowOf = (connection: GraphQLObjectType) => {
    const nodes = connection.name.endsWith('Connection') ? connection.getFields().nodes : undefined;
    const row = nodes && getNamedType(nodes.type);
    return isObjectType(row) && isRow(row) ? row : null;
  };

  const root = operation.operation === 'mutation' ? schema.getMutationType() : schema.getQueryType();
  if (root && typeof data === 'object' && data !== null) walk(root, data as Value, [operation.selectionSet], '');
  return found;
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
