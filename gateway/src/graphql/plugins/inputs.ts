// Arguments of operations, read before GraphQL checks their types: it would refuse a blank time, or a number in quotes.
import {
  type ArgumentNode,
  type ConstObjectFieldNode,
  type DocumentNode,
  type FieldNode,
  Kind,
  type ObjectFieldNode,
  parse,
  print,
  type ValueNode,
  visit,
} from 'postgraphile/graphql';
import type { z } from 'zod';
import { camelCase } from '../../operations/graphql-types.ts';
import { operations } from '../../operations/index.ts';
import type { AnyOperation } from '../../operations/operation.ts';
import { isLeftOut, isOptionalField, readInput, schemaOfField, schemaOfItems } from '../../operations/read-input.ts';
import { rememberedFor } from './selections.ts';

const byField = new Map(operations.map((operation) => [camelCase(operation.name), operation]));

/** A mutation has all its arguments in one. */
const schemaOfArgument = ({ input, isReadOnly }: AnyOperation, name: string) =>
  !isReadOnly && name === 'input' ? input : schemaOfField(input, name);

type Named = ArgumentNode | ObjectFieldNode | ConstObjectFieldNode;

const isBlank = (schema: z.ZodType, value: ValueNode) =>
  value.kind === Kind.STRING && isLeftOut(value.value) && isOptionalField(schema);

/** Without those whose value is a blank text, where they may be left out. */
function withoutBlanks<Node extends Named>(nodes: readonly Node[], schemaOf: (name: string) => z.ZodType | undefined) {
  return nodes.flatMap((node): Node[] => {
    const schema = schemaOf(node.name.value);
    if (!schema) return [node];
    return isBlank(schema, node.value) ? [] : [{ ...node, value: withoutBlanksIn(schema, node.value) }];
  });
}

function withoutBlanksIn(schema: z.ZodType, value: ValueNode): ValueNode {
  const items = schemaOfItems(schema);
  if (value.kind === Kind.LIST && items)
    return { ...value, values: value.values.map((item) => withoutBlanksIn(items, item)) };
  if (value.kind !== Kind.OBJECT) return value;
  return { ...value, fields: withoutBlanks(value.fields, (name) => schemaOfField(schema, name)) };
}

// A text of at most a few characters, which visit() then looks at.
const HAS_BLANK = /:\s*"[^"\x21-\x7e]*"(?!")/;

/** The document without the blank texts in it that stand for what is left out. */
function readDocument(query: string): string {
  if (!HAS_BLANK.test(query)) return query;
  try {
    return print(
      visit(parse(query), {
        Field(node) {
          const operation = byField.get(node.name.value);
          if (!operation || !node.arguments?.length) return;
          return { ...node, arguments: withoutBlanks(node.arguments, (name) => schemaOfArgument(operation, name)) };
        },
      }),
    );
  } catch {
    // It is reported by whatever parses it next.
    return query;
  }
}

interface Asked {
  /** The fields that are operations, wherever they stand. */
  fields: readonly FieldNode[];
  /** The variables that GraphQL wants a value of. */
  required: ReadonlySet<string>;
}

const askedIn = rememberedFor((document: DocumentNode): Asked => {
  const fields: FieldNode[] = [];
  const required = new Set<string>();
  visit(document, {
    Field: (node) => void (byField.has(node.name.value) && fields.push(node)),
    VariableDefinition: ({ variable, type }) =>
      void (type.kind === Kind.NON_NULL_TYPE && required.add(variable.name.value)),
  });
  return { fields, required };
});

type Variables = Record<string, unknown>;

/** The values of variables, read as the arguments in which they stand. */
function readVariables({ fields, required }: Asked, given: Variables): Variables {
  const variables = { ...given };
  const read = (schema: z.ZodType | undefined, value: ValueNode): void => {
    if (!schema) return;
    if (value.kind === Kind.VARIABLE && Object.hasOwn(variables, value.name.value)) {
      const name = value.name.value;
      const now = readInput(schema, variables[name]);
      if (isLeftOut(now) && isOptionalField(schema) && !required.has(name)) delete variables[name];
      else variables[name] = now;
    }
    if (value.kind === Kind.OBJECT)
      for (const part of value.fields) read(schemaOfField(schema, part.name.value), part.value);
    if (value.kind === Kind.LIST) for (const item of value.values) read(schemaOfItems(schema), item);
  };
  for (const { name, arguments: args = [] } of fields) {
    const operation = byField.get(name.value)!;
    for (const argument of args) read(schemaOfArgument(operation, argument.name.value), argument.value);
  }
  return variables;
}

export const inputsPlugin: GraphileConfig.Plugin = {
  name: 'InputsPlugin',
  version: '1.0.0',
  grafserv: {
    middleware: {
      processGraphQLRequestBody(next, { body }) {
        if (typeof body.query === 'string') body.query = readDocument(body.query);
        return next();
      },
    },
  },
  grafast: {
    middleware: {
      execute(next, { args }) {
        const given: Variables | null | undefined = args.variableValues;
        if (given && Object.keys(given).length > 0) {
          const asked = askedIn(args.document);
          if (asked.fields.length > 0) args.variableValues = readVariables(asked, given);
        }
        return next();
      },
    },
  },
};
