// Counts the rows of each table in a GraphQL answer, by walking the answer along its query.
import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isInterfaceType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'postgraphile/graphql';

export interface RowsRead {
  /** Rows in the answer by type; 0 if a type was requested and nothing was found. */
  counts: Map<string, number>;
  /** Requested `totalCount`s by type. */
  totals: Map<string, number>;
  /** Ids of the memories among these rows, if the query selects them. */
  memoryIds: Set<string>;
}

export interface Request {
  schema: GraphQLSchema;
  operation: OperationDefinitionNode;
  fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  variables: Readonly<Record<string, unknown>>;
}

type Value = Record<string, unknown>;

/** `isRow` returns true for types that stand for rows of tables. */
export function rowsRead(request: Request, data: unknown, isRow: (type: GraphQLObjectType) => boolean): RowsRead {
  const { schema, operation, fragments, variables } = request;
  const found: RowsRead = { counts: new Map(), totals: new Map(), memoryIds: new Set() };
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

  const walk = (type: GraphQLObjectType, value: Value, selections: readonly SelectionSetNode[], isWritten = false) => {
    if (isRow(type) && !isWritten) add(type.name, 1);
    for (const [key, nodes] of fieldsOf(type, selections)) {
      const name = nodes[0]!.name.value;
      const field = type.getFields()[name];
      if (!field || !(key in value)) continue;
      if (type.name === 'Memory' && name === 'packetId' && !isWritten) found.memoryIds.add(String(value[key]));
      const row = rowOf(type);
      if (row && name === 'totalCount') found.totals.set(row.name, Number(value[key]));
      const named = getNamedType(field.type);
      const below = nodes.flatMap((node) => (node.selectionSet ? [node.selectionSet] : []));
      if (isObjectType(named)) {
        // Rows that a mutation returns because it wrote them are audited as written.
        const isWritten = type.name.endsWith('Payload');
        if (!isWritten) noteAsked(named);
        each(value[key], (entry) => walk(named, entry, below, isWritten));
      } else if (isInterfaceType(named)) {
        each(value[key], (entry) => {
          const concrete = schema.getType(typeOfNodeId(nodes[0]!, variables) ?? '');
          if (isObjectType(concrete)) walk(concrete, entry, below);
          else add(named.name, 1);
        });
      }
    }
  };

  // An empty list is audited too, with a count of 0.
  const noteAsked = (type: GraphQLObjectType) => {
    if (isRow(type)) add(type.name, 0);
    const row = rowOf(type);
    if (row) add(row.name, 0);
  };
  /** The type of the nodes of a connection. */
  const rowOf = (connection: GraphQLObjectType) => {
    const nodes = connection.name.endsWith('Connection') ? connection.getFields().nodes : undefined;
    const row = nodes && getNamedType(nodes.type);
    return isObjectType(row) && isRow(row) ? row : null;
  };

  const root = operation.operation === 'mutation' ? schema.getMutationType() : schema.getQueryType();
  if (root && typeof data === 'object' && data !== null) walk(root, data as Value, [operation.selectionSet]);
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
