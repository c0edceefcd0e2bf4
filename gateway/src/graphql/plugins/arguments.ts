// What the fields of a GraphQL request were called with.
import {
  type FieldNode,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isObjectType,
  type SelectionSetNode,
  valueFromASTUntyped,
} from 'postgraphile/graphql';
import { type Asked, fieldsIn } from './selections.ts';

type Value = Record<string, unknown>;

export const toObject = (value: unknown): Value =>
  typeof value === 'object' && value !== null ? (value as Value) : {};

/** The arguments of a field, with the values of their variables. */
export function argumentsOf({ arguments: given = [] }: FieldNode, variables: Asked['variables']): Value {
  return Object.fromEntries(
    given.map(({ name, value }) => [name.value, valueFromASTUntyped(value, variables as Record<string, never>)]),
  );
}

const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** The project, scope and memory that the query or mutation on this path of the answer was called with, itself or in its input. */
export function askedAt(
  { schema, operation, fragments, variables }: Asked & { schema: GraphQLSchema },
  path: readonly (string | number)[],
): { projectId: string | null; scope: string | null; packetId: string | null } {
  const root = schema.getRootType(operation.operation);
  let type: GraphQLNamedType | undefined = root ?? undefined;
  let selections: SelectionSetNode[] = [operation.selectionSet];
  let given: Value = {};
  for (const key of path) {
    const nodes: FieldNode[] | undefined =
      isObjectType(type) && typeof key === 'string'
        ? fieldsIn(schema, fragments, type, selections).get(key)
        : undefined;
    if (!isObjectType(type) || !nodes) break;
    // Query is a field of itself, too, and of what mutations return.
    if (type === root || type === schema.getQueryType()) given = argumentsOf(nodes[0]!, variables);
    type = getNamedType(type.getFields()[nodes[0]!.name.value]?.type);
    selections = nodes.flatMap((node) => (node.selectionSet ? [node.selectionSet] : []));
  }
  const places = [given, toObject(given.input), toObject(given.condition)];
  const text = (name: string) => {
    const value = places.map((values) => values[name]).find((one) => typeof one === 'string' && one !== '');
    return (value as string | undefined) ?? null;
  };
  const packetId = text('packetId');
  return {
    projectId: text('projectId'),
    scope: text('scope'),
    packetId: packetId && UUID.test(packetId) ? packetId : null,
  };
}
