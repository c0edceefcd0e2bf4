// clients/typescript/src/generated.ts: the requests of the client (operations.graphql), checked against the schema, and the types of
// what they take and give. A fragment becomes an interface of its name. The comments are those of the schema.
import {
  type FragmentDefinitionNode,
  type GraphQLInputType,
  GraphQLNonNull,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  parse,
  print,
  type SelectionSetNode,
  TypeInfo,
  typeFromAST,
  validate,
  visit,
  visitWithTypeInfo,
} from 'postgraphile/graphql';
import { errorKinds } from '../../gateway/src/base/errors.ts';

const HEADER = `// Written by \`npm run generate\` from gateway/schema.graphql and operations.graphql: change those instead.

/** A value of JSON. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
/** An object of JSON. */
export type JsonObject = { [field: string]: JsonValue };

/** The documented errors of the server, and those of the client: nothing that is l9-memory answered, or not in time. */
export type ErrorCode =
${[...Object.values(errorKinds).map(({ code }) => code), 'INTERNAL', 'NOT_FOUND', 'UNREACHABLE', 'TIMEOUT'].map((code) => `  | '${code}'`).join('\n')};
`;

/** Scalars as answers hold them. Times are texts in ISO 8601, and numbers beyond what a double holds are texts, too. */
const ANSWERED: Record<string, string> = {
  ...{ String: 'string', ID: 'string', UUID: 'string', Cursor: 'string', Datetime: 'string', BigInt: 'string' },
  ...{ Int: 'number', Float: 'number', Boolean: 'boolean', JSON: 'JsonValue' },
};
/** What JSON.stringify makes the right text of is taken, too. */
const TAKEN: Record<string, string> = { ...ANSWERED, Datetime: 'string | Date', JSON: 'unknown' };
/** Fields of type JSON that are always objects. */
const OBJECTS = new Set(['envelope', 'metadata', 'fields', 'filters', 'cut', 'explanation', 'current']);

const indented = (text: string) => text.replace(/^(?=.)/gm, '  ');
const sorted = <T extends { name: string }>(items: Iterable<T>) =>
  [...items].sort((a, b) => (a.name < b.name ? -1 : 1));

function comment(text: string | null | undefined, fallback?: unknown): string {
  const sentences = [text, fallback === undefined ? null : `Default: ${JSON.stringify(fallback)}.`].filter(Boolean);
  return sentences.length ? `/** ${sentences.join(' ').replace(/\s+/g, ' ').replaceAll('*/', '*\\/')} */\n` : '';
}

export function describeTypescriptClient(schema: GraphQLSchema, operations: string): string {
  const document = parse(operations);
  const faults = validate(schema, document);
  if (faults.length) throw new Error(`operations.graphql: ${faults.map(({ message }) => message).join('; ')}`);
  const named = new Set<string>();
  const info = new TypeInfo(schema);

  /** The type of a position, with `null` where the schema has it, and lists as they are. */
  function typeText(type: GraphQLInputType | GraphQLOutputType, inner: string): string {
    if (!isNonNullType(type)) return `${typeText(new GraphQLNonNull(type) as GraphQLOutputType, inner)} | null`;
    const { ofType } = type;
    if (!isListType(ofType)) return inner;
    const item = typeText(ofType.ofType, inner);
    return item.includes(' ') ? `(${item})[]` : `${item}[]`;
  }

  function inputText(type: GraphQLInputType): string {
    const one = getNamedType(type);
    if (isEnumType(one) || isInputObjectType(one)) {
      named.add(one.name);
      return typeText(type, one.name);
    }
    const text = TAKEN[one.name];
    if (!text) throw new Error(`there is no type for the scalar ${one.name}`);
    return text === 'unknown' ? text : typeText(type, text);
  }

  function selectionText(parent: GraphQLOutputType, { selections }: SelectionSetNode): string {
    const type = getNamedType(parent);
    if (!isObjectType(type)) throw new Error(`${String(type)} has no fields to select`);
    const spreads: string[] = [];
    const fields: string[] = [];
    for (const selection of selections) {
      if (selection.kind === Kind.FRAGMENT_SPREAD) spreads.push(selection.name.value);
      if (selection.kind !== Kind.FIELD) continue;
      const name = selection.name.value;
      const field = type.getFields()[name]!;
      fields.push(`${comment(field.description)}${name}: ${answerText(field.type, name, selection.selectionSet)};\n`);
    }
    return [...spreads, ...(fields.length ? [`{\n${indented(fields.join(''))}}`] : [])].join(' & ');
  }

  function answerText(type: GraphQLOutputType, name: string, selected: SelectionSetNode | undefined): string {
    if (selected) return typeText(type, selectionText(type, selected));
    const one = getNamedType(type);
    if (isEnumType(one)) {
      named.add(one.name);
      return typeText(type, one.name);
    }
    const text = one.name === 'JSON' && OBJECTS.has(name) ? 'JsonObject' : ANSWERED[one.name];
    if (!text) throw new Error(`there is no type for the scalar ${one.name}`);
    return typeText(type, text);
  }

  const fragments = new Map<string, FragmentDefinitionNode>();
  const requests: OperationDefinitionNode[] = [];
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
    if (definition.kind === Kind.OPERATION_DEFINITION) requests.push(definition);
  }

  function fragmentsIn(node: FragmentDefinitionNode | OperationDefinitionNode, found = new Set<string>()): Set<string> {
    visit(node, {
      FragmentSpread({ name }) {
        if (!found.has(name.value)) fragmentsIn(fragments.get(name.value)!, found.add(name.value));
      },
    });
    return found;
  }

  /** What the schema says of the argument that a variable is for. */
  function argumentsOf(request: OperationDefinitionNode) {
    const found = new Map<string, { description?: string | null | undefined; defaultValue?: unknown }>();
    visit(
      request,
      visitWithTypeInfo(info, {
        Argument({ value }) {
          const argument = info.getArgument();
          if (value.kind === Kind.VARIABLE && argument) found.set(value.name.value, argument);
        },
      }),
    );
    return found;
  }

  function requestText(request: OperationDefinitionNode): string {
    const name = request.name!.value;
    const about = argumentsOf(request);
    const variables = (request.variableDefinitions ?? []).map(({ variable, type: node }) => {
      const type = typeFromAST(schema, node as never) as GraphQLInputType;
      const { description, defaultValue } = about.get(variable.name.value) ?? {};
      const optional = isNonNullType(type) ? '' : '?';
      return `${comment(description, defaultValue)}${variable.name.value}${optional}: ${inputText(type)};\n`;
    });
    const parent = request.operation === 'mutation' ? schema.getMutationType()! : schema.getQueryType()!;
    const used = [...fragmentsIn(request)].sort().map((fragment) => print(fragments.get(fragment)!));
    return [
      `export interface ${name}Variables {\n${indented(variables.join(''))}}\n`,
      `export type ${name}Answer = ${selectionText(parent, request.selectionSet)};\n`,
      `export const ${name} = \`${[print(request), ...used].join('\n\n')}\`;\n`,
    ].join('\n');
  }

  const interfaces = sorted([...fragments].map(([name, fragment]) => ({ name, fragment }))).map(
    ({ name, fragment: { typeCondition, selectionSet } }) => {
      const type = schema.getType(typeCondition.name.value) as GraphQLOutputType & { description?: string };
      return `${comment(type.description)}export interface ${name} ${selectionText(type, selectionSet)}\n`;
    },
  );
  const texts = requests.map(requestText);
  return [HEADER, ...interfaces, ...inputTypes(), ...texts].join('\n');

  function inputTypes(): string[] {
    const written = new Map<string, string>();
    for (let missing = [...named]; missing.length; missing = [...named].filter((name) => !written.has(name)))
      for (const name of missing) written.set(name, inputType(name));
    return sorted([...written].map(([name, text]) => ({ name, text }))).map(({ text }) => text);
  }

  function inputType(name: string): string {
    const type = schema.getType(name)!;
    if (isEnumType(type)) {
      const values = type.getValues().map((value) => `'${value.name}'`);
      return `${comment(type.description)}export type ${name} = ${values.join(' | ')};\n`;
    }
    if (!isInputObjectType(type)) throw new Error(`${name} is no input`);
    const fields = Object.values(type.getFields())
      .filter((field) => field.name !== 'clientMutationId')
      .map(({ name: field, type: of, description, defaultValue }) => {
        const optional = isNonNullType(of) && defaultValue === undefined ? '' : '?';
        return `${comment(description, defaultValue)}${field}${optional}: ${inputText(of)};\n`;
      });
    return `${comment(type.description)}export interface ${name} {\n${indented(fields.join(''))}}\n`;
  }
}
