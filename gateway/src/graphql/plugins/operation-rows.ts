// Rows of tables in the answers of operations. An answer holds the columns of its row, so where a query selects nothing
// else, the row is taken from the answer instead of being queried again.
import { access, lambda, operationPlan, Step } from 'postgraphile/grafast';
import { type FieldNode, Kind, type SelectionSetNode } from 'postgraphile/graphql';
import type { JsonSchema } from '../sdl.ts';
import { toObject } from './arguments.ts';

interface Codec {
  name: string;
  arrayOfCodec?: Codec | undefined;
}

/** The part of a PostGraphile resource that this needs. */
export interface TableResource {
  codec: { attributes?: Record<string, { codec: Codec }> | undefined };
  get(spec: Record<string, Step>): Step;
}

/** Codecs whose values JSON holds just as PostGraphile reads them from a column. */
const AS_IN_JSON: ReadonlySet<string> = new Set(['text', 'uuid', 'bool', 'int4', 'float8', 'jsonb']);

/** PostGraphile prints six digits of a second; JSON leaves out zeros at their end. */
const sixDigits = (time: unknown) =>
  typeof time === 'string'
    ? time.replace(
        /(T\d\d:\d\d:\d\d)(?:\.(\d+))?/,
        (_, start: string, digits = '') => `${start}.${digits.padEnd(6, '0')}`,
      )
    : time;

const converterOf = ({ name, arrayOfCodec }: Codec): ((value: unknown) => unknown) | null => {
  if (name === 'timestamptz') return sixDigits;
  return AS_IN_JSON.has(arrayOfCodec?.name ?? name) ? (value) => value : null;
};

/**
 * Plans a row. `path` is where the answer has it: the names of the fields from the root of the request down to the row.
 * `fieldOf` names the GraphQL field of a column.
 */
export function planRow(
  $answer: Step,
  {
    schema,
    resource,
    path,
    fieldOf,
  }: { schema: JsonSchema; resource: TableResource; path: readonly string[]; fieldOf: (column: string) => string },
): Step {
  const { column, key = column, columns = {} } = schema.graphql!.row!;
  const attributes = resource.codec.attributes ?? {};
  const answered = Object.keys(schema.properties ?? {}).flatMap((name) => {
    const attribute = columns[name] === undefined ? name : columns[name];
    const codec = attribute === null ? undefined : attributes[attribute]?.codec;
    const convert = codec && converterOf(codec);
    return attribute && convert ? [{ name, attribute, field: fieldOf(attribute), convert }] : [];
  });
  const known = new Set(['__typename', ...answered.map(({ field }) => field)]);
  if (![...selectedFields(path)].every((field) => known.has(field)))
    return resource.get({ [column]: access($answer, key) });

  const $row = lambda(
    $answer,
    (answer) => {
      if (answer === null || answer === undefined) return null;
      const values = toObject(answer);
      return Object.fromEntries(answered.map(({ name, attribute, convert }) => [attribute, convert(values[name])]));
    },
    true,
  );
  // The fields of a row ask their parent for columns by `get`, which an access step has.
  const $answered = access($row, []);
  answeredRows.add($answered);
  return $answered;
}

/** The steps of rows that are taken from answers. */
const answeredRows = new WeakSet<Step>();

type AssertStep = (step: Step) => void;

/** In development Grafast checks that the step of a row selects from its table. A row that is in an answer need not be selected. */
export const operationRowsPlugin: GraphileConfig.Plugin = {
  name: 'OperationRowsPlugin',
  version: '1.0.0',
  schema: {
    hooks: {
      GraphQLObjectType(config) {
        // A class of steps is checked by instanceof, and is of no rows. What is left is a function, which TypeScript can't tell.
        if (!config.assertStep || config.assertStep.prototype instanceof Step) return config;
        const assertStep = config.assertStep as AssertStep;
        const assertOther = (step: Step) => {
          if (!answeredRows.has(step)) assertStep(step);
        };
        return { ...config, assertStep: assertOther };
      },
    },
  },
};

/** The names of all fields that the operation under way selects at this path. */
function selectedFields(path: readonly string[]): Set<string> {
  const { operation, fragments } = operationPlan();
  const fieldsIn = ({ selections }: SelectionSetNode): FieldNode[] =>
    selections.flatMap((node) => {
      if (node.kind === Kind.FIELD) return [node];
      const fragment = node.kind === Kind.FRAGMENT_SPREAD ? fragments[node.name.value] : node;
      return fragment ? fieldsIn(fragment.selectionSet) : [];
    });
  let fields = fieldsIn(operation.selectionSet);
  for (const name of path) {
    fields = fields.flatMap((node) =>
      node.name.value === name && node.selectionSet ? fieldsIn(node.selectionSet) : [],
    );
  }
  return new Set(fields.map(({ name }) => name.value));
}
