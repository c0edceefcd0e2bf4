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
import { ADMIN_MUTATION, ADMIN_QUERY } from './admin.ts';
import { type Asked, fieldsIn } from './selections.ts';

type Value = Record<string, unknown>;

export const adminTypesOf = (schema: GraphQLSchema) =>
  [ADMIN_QUERY, ADMIN_MUTATION].map((name) => schema.getType(name));

export const toObject = (value: unknown): Value => (isObject(value) ? value : {});

/** The arguments of a field, with the values of their variables. */
export function argumentsOf({ arguments: given = [] }: FieldNode, variables: Asked['variables']): Value {
  return Object.fromEntries(given.map(({ name, value }) => [name.value, valueFromASTUntyped(value, variables)]));
}

/** The value that a filter asks for in this field, wherever all of its conditions must hold. */
export function valueInFilter(filter: unknown, field: string): string | null {
  const { [field]: comparison, and } = toObject(filter);
  const { equalTo, in: list } = toObject(comparison);
  const value = Array.isArray(list) && list.length === 1 ? list[0] : equalTo;
  if (typeof value === 'string' && value !== '') return value;
  if (!Array.isArray(and)) return null;
  return and.map((inner) => valueInFilter(inner, field)).find((found) => found !== null) ?? null;
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

/** The field of the request that an error on this path is about, as the audit log names it: in `admin`, the one in it. */
export function fieldAt(asked: Asked & { schema: GraphQLSchema }, path: readonly (string | number)[]): string | null {
  const [top, inner] = path.map(String);
  const [called] = fieldsAlong(asked, path.slice(0, 1));
  if (top === undefined || called?.field.name !== 'admin') return top ?? null;
  const type = getNamedType(called.field.type);
  const { selectionSet } = called.node;
  if (inner !== undefined || !isObjectType(type) || !selectionSet) return `${top}.${inner}`;
  return `${top}.${[...fieldsIn(asked.schema, asked.fragments, type, [selectionSet]).keys()].join(', ')}`;
}

/** The project, scope and memory that the query or mutation on this path of the answer was called with, itself or in its input. */
export function askedAt(
  asked: Asked & { schema: GraphQLSchema },
  path: readonly (string | number)[],
): { projectId: string | null; scope: string | null; packetId: string | null } {
  const { schema, operation, variables } = asked;
  // What mutations return has Query as a field, and both have the field admin.
  const roots = [schema.getRootType(operation.operation), schema.getQueryType(), ...adminTypesOf(schema)];
  const called = fieldsAlong(asked, path).findLast(({ parent }) => roots.includes(parent));
  const given = called ? argumentsOf(called.node, variables) : {};
  const text = (name: string) => {
    const isText = (one: unknown): one is string => typeof one === 'string' && one !== '';
    return (
      [given, toObject(given.input)].map((values) => values[name]).find(isText) ?? valueInFilter(given.filter, name)
    );
  };
  const packetId = text('packetId');
  return {
    projectId: text('projectId'),
    scope: text('scope'),
    packetId: packetId && UUID.test(packetId) ? packetId : null,
  };
}
