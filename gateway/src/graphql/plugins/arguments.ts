// What the fields of a GraphQL request were called with.
import {
  type FieldNode,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isObjectType,
  type SelectionSetNode,
  valueFromASTUntyped,
} from 'postgraphile/graphql';
import { isObject } from '../../operations/read-input.ts';
import { type Asked, fieldsIn } from './selections.ts';

type Value = Record<string, unknown>;

export const toObject = (value: unknown): Value => (isObject(value) ? value : {});

/** The arguments of a field, with the values of their variables. */
export function argumentsOf({ arguments: given = [] }: FieldNode, variables: Asked['variables']): Value {
  return Object.fromEntries(given.map(({ name, value }) => [name.value, valueFromASTUntyped(value, variables)]));
}

const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** The fields that lead to this path of the answer, each with the type that it is a field of. */
export function fieldsAlong(
  { schema, operation, fragments }: Asked & { schema: GraphQLSchema },
  path: readonly (string | number)[],
) {
  const along: { parent: GraphQLObjectType; node: FieldNode; field: GraphQLField<unknown, unknown> }[] = [];
  let type: GraphQLNamedType | undefined = schema.getRootType(operation.operation) ?? undefined;
  let selections: SelectionSetNode[] = [operation.selectionSet];
  // A place in a list is on the path, too.
  for (const key of path.filter((key) => typeof key === 'string')) {
    const nodes: FieldNode[] | undefined = isObjectType(type)
      ? fieldsIn(schema, fragments, type, selections).get(key)
      : undefined;
    if (!isObjectType(type) || !nodes) break;
    const field: GraphQLField<unknown, unknown> | undefined = type.getFields()[nodes[0]!.name.value];
    if (!field) break;
    along.push({ parent: type, node: nodes[0]!, field });
    type = getNamedType(field.type);
    selections = nodes.flatMap((node) => (node.selectionSet ? [node.selectionSet] : []));
  }
  return along;
}

/** The project, scope and memory that the query or mutation on this path of the answer was called with, itself or in its input. */
export function askedAt(
  asked: Asked & { schema: GraphQLSchema },
  path: readonly (string | number)[],
): { projectId: string | null; scope: string | null; packetId: string | null } {
  const { schema, operation, variables } = asked;
  // Query is a field of itself, too, and of what mutations return.
  const roots = [schema.getRootType(operation.operation), schema.getQueryType()];
  const called = fieldsAlong(asked, path).findLast(({ parent }) => roots.includes(parent));
  const given = called ? argumentsOf(called.node, variables) : {};
  const places = [given, toObject(given.input), toObject(given.condition)];
  const text = (name: string) => {
    const isGiven = (one: unknown): one is string => typeof one === 'string' && one !== '';
    return places.map((values) => values[name]).find(isGiven) ?? null;
  };
  const packetId = text('packetId');
  return {
    projectId: text('projectId'),
    scope: text('scope'),
    packetId: packetId && UUID.test(packetId) ? packetId : null,
  };
}
