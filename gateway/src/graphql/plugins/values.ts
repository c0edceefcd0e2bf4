// Values that do not fit the schema are refused with the name of their field. Scalars check their own form, because the error of
// PostgreSQL would not say which value it means.
import {
  type ArgumentNode,
  type ASTNode,
  type ASTVisitor,
  coerceInputValue,
  type DocumentNode,
  type ExecutionArgs,
  type FloatValueNode,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  type IntValueNode,
  isEnumType,
  isInputType,
  isNonNullType,
  Kind,
  type OperationDefinitionNode,
  print,
  typeFromAST,
  type ValidationContext,
  valueFromASTUntyped,
  visit,
} from 'postgraphile/graphql';
import { shownPath, withoutValues } from '../../input/echo.ts';
import { INEXACT_NUMBER, INEXACT_REASON, isExactNumber } from '../../input/exact-json.ts';
import { camelCase } from '../../operations/graphql-types.ts';
import { operations } from '../../operations/index.ts';
import { checkStorable } from '../../operations/storable.ts';
import type { Edit, ShownError } from './answers.ts';
import { checking } from './checks.ts';
import { rememberedFor } from './selections.ts';

const MAX_MESSAGE_LENGTH = 500;
// The largest number that a column of type real holds.
const MAX_FLOAT = 3.4e38;
// Longer enums are those of orders; an editor of GraphQL lists them.
const MAX_NAMES = 16;
const PAGING = new Set(['first', 'last', 'offset']);
/** They check their input themselves, so that a refusal is audited under their name. */
const checkedLater = new Set(operations.map(({ name }) => camelCase(name)));

const invalidValue = (name: string | null, reason: string) => {
  const field = name && shownPath(name.split('.'));
  const said = isOwnReason(reason) ? reason : withoutValues(reason.slice(0, MAX_MESSAGE_LENGTH));
  return new GraphQLError(`${field ?? 'value'}: ${said}`, {
    extensions: { code: 'INVALID_INPUT', sqlstate: 'L9VAL', ...(field ? { field } : {}) },
  });
};

/** Throws if a value is not kept as it is, or is larger than any column. `name` is that of its variable. */
function checkKept(value: unknown, name: string): void {
  const fields = typeof value === 'object' && value !== null && !Array.isArray(value) ? value : { [name]: value };
  checkStorable(fields);
  for (const [field, inner] of Object.entries(fields)) {
    const all = typeof inner === 'object' && inner !== null ? Object.values(inner) : [inner];
    if (all.some((one) => typeof one === 'number' && Math.abs(one) > MAX_FLOAT))
      throw invalidValue(field, 'this number is too large');
  }
}

/** Refuses numbers in the document that are not kept exactly, with the name of the argument or of the fields of it that lead there. */
function exactNumbers(context: ValidationContext): ASTVisitor {
  // The parts of a value of JSON have no type, and are no fields.
  const fields = new Map<unknown, string>();
  const check = (
    { value }: IntValueNode | FloatValueNode,
    _key: unknown,
    parent: ASTNode | readonly ASTNode[] | undefined,
    _path: unknown,
    ancestors: readonly (ASTNode | readonly ASTNode[])[],
  ) => {
    if (isExactNumber(value)) return;
    const above = [...ancestors, parent].filter((node) => node !== undefined && 'kind' in node);
    const owner = above.findLast((node) => node.kind === Kind.ARGUMENT || node.kind === Kind.VARIABLE_DEFINITION);
    const name = owner?.kind === Kind.VARIABLE_DEFINITION ? owner.variable.name.value : owner?.name.value;
    const names = above.flatMap((node) => fields.get(node) ?? []);
    context.reportError(invalidValue(names.join('.') || name || null, INEXACT_REASON));
  };
  return {
    ObjectField: (node) => void (context.getInputType() && fields.set(node, node.name.value)),
    IntValue: check,
    FloatValue: check,
  };
}

/** The variables in the arguments of operations, which check them. Arguments of fields further down are checked here. */
const variablesOfOperations = rememberedFor(({ selectionSet }: OperationDefinitionNode): ReadonlySet<string> => {
  const names = new Set<string>();
  const { selections } = selectionSet;
  if (!selections.every((node) => node.kind === Kind.FIELD && checkedLater.has(node.name.value))) return names;
  for (const node of selections) {
    if (node.kind !== Kind.FIELD) continue;
    for (const argument of node.arguments ?? [])
      visit(argument, { Variable: ({ name }) => void names.add(name.value) });
  }
  return names;
});

/** The arguments that say which part of a list is wanted. */
const pagingIn = rememberedFor((document: DocumentNode): readonly ArgumentNode[] => {
  const found: ArgumentNode[] = [];
  visit(document, { Argument: (node) => void (PAGING.has(node.name.value) && found.push(node)) });
  return found;
});

/** Why GraphQL does not take a value, in words of the product where there are some. */
function reasonOf({ message, originalError }: GraphQLError, schema: GraphQLSchema): string {
  const [, name] = /^Value .* does not exist in "(\w+)" enum|^Enum "(\w+)"/.exec(message)?.filter(Boolean) ?? [];
  const type = name && schema.getType(name);
  const names = isEnumType(type) ? type.getValues().map((one) => one.name) : [];
  if (names.length > 0 && names.length <= MAX_NAMES) return `must be one of ${names.join(', ')}`;
  return isOwnReason(originalError?.message) ? originalError!.message : message;
}

/** Throws for the first variable whose value does not fit its type. */
function checkVariables({ schema, document, operationName, variableValues }: ExecutionArgs): void {
  const given: Readonly<Record<string, unknown>> = variableValues ?? {};
  const operation = getOperationAST(document, operationName);
  const isCheckedLater = operation && variablesOfOperations(operation);
  for (const { variable, type, defaultValue } of operation?.variableDefinitions ?? []) {
    const name = variable.name.value;
    const wanted = typeFromAST(schema, type);
    if (!isInputType(wanted)) continue;
    if (given[name] === undefined) {
      if (isNonNullType(wanted) && !defaultValue)
        throw invalidValue(name, `a value of type ${print(type)} is required`);
      continue;
    }
    coerceInputValue(given[name], wanted, (path, value, error) => {
      const field = path.filter((key) => typeof key === 'string').join('.') || name;
      throw invalidValue(field, value === INEXACT_NUMBER ? INEXACT_REASON : reasonOf(error, schema));
    });
    if (!isCheckedLater?.has(name)) checkKept(given[name], name);
  }
}

function checkPaging({ document, variableValues }: ExecutionArgs): void {
  for (const { name, value: node } of pagingIn(document)) {
    const value = node.kind === Kind.VARIABLE ? variableValues?.[node.name.value] : valueFromASTUntyped(node);
    if (typeof value === 'number' && value < 0) throw invalidValue(name.value, 'must be 0 or more');
  }
}

/** An error without the status that grafserv keeps in it, and one of GraphQL itself with a code and the name before a value that is wrong. */
function finished(error: ShownError, query: string): ShownError {
  const { statusCode: _, ...extensions } = error.extensions ?? {};
  if (extensions.code) return { ...error, message: error.message, extensions };
  const [place] = error.locations ?? [];
  const before = query.split('\n').slice(0, place?.line ?? 0);
  const line = before.pop() ?? '';
  const at = (place?.column ?? 1) - 1;
  const isOfValue = /^(?:["\d.$[{A-Z-]|(?:true|false|null)\b)/.test(line.slice(at));
  const [, field] = (isOfValue && /(\w+)\s*:[\s[]*$/.exec([...before, line.slice(0, at)].join('\n'))) || [];
  const own = Object.values(scalars).find(({ reason }) => error.message.endsWith(reason))?.reason;
  return {
    ...error,
    message: own ? `${field ?? 'value'}: ${own}` : withoutValues(error.message.slice(0, MAX_MESSAGE_LENGTH)),
    extensions: { ...extensions, ...invalidValue(field ?? null, '').extensions },
  };
}

const MIN_BIGINT = -(2n ** 63n);
const MAX_BIGINT = 2n ** 63n - 1n;
const TIME =
  /^(?<day>\d{4}-\d\d-\d\d)(?:[T ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-](?:0\d|1[0-4])(?::?[0-5]\d)?)?)?$/i;

function isDay(day: string): boolean {
  const time = Date.parse(`${day}T00:00:00Z`);
  // JavaScript takes February 30th for March 2nd.
  return !day.startsWith('0000') && !Number.isNaN(time) && new Date(time).toISOString().startsWith(day);
}

/** A cursor is a list of values in JSON: a place in a list without an order, or those of the ordered columns. */
function isCursor(text: string): boolean {
  try {
    const cursor: unknown = JSON.parse(Buffer.from(text, 'base64').toString());
    if (!Array.isArray(cursor)) return false;
    return cursor[0] === 'natural' ? Number.isSafeInteger(cursor[1]) && cursor[1] >= 0 : true;
  } catch {
    return false;
  }
}

const DURATION =
  /^(?=.)(\d{1,6} (year|mon|month|week|day|hour|minute|min|second|sec)s?( (?=\S)|$))*(\d{1,4}:\d\d(:\d\d)?)?$/;

/** The texts that a scalar accepts, and its error for any other. */
const scalars: Record<string, { accepts: (text: string) => boolean; reason: string }> = {
  BigInt: {
    accepts: (text) => /^-?\d{1,19}$/.test(text) && BigInt(text) >= MIN_BIGINT && BigInt(text) <= MAX_BIGINT,
    reason: 'must be a whole number of at most 8 bytes, such as "1200"',
  },
  BigFloat: {
    accepts: (text) => /^-?\d{1,40}(\.\d{1,40})?(e[+-]?\d{1,2})?$/i.test(text),
    reason: 'must be a number such as "0.023"',
  },
  Datetime: {
    accepts: (text) => /^-?infinity$/.test(text) || isDay(TIME.exec(text)?.groups?.day ?? ''),
    reason: 'must be a time as in 2026-12-31T23:59:59Z',
  },
  UUID: {
    accepts: (text) => /^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$/i.test(text),
    reason: 'must be a UUID',
  },
  Date: { accepts: (text) => /^\d{4}-\d\d-\d\d$/.test(text) && isDay(text), reason: 'must be a day as in 2026-12-31' },
  Duration: {
    accepts: (text) => DURATION.test(text),
    reason: 'must be a length of time as in 90 days or 1 year 6 mons',
  },
  Cursor: { accepts: isCursor, reason: 'must be a cursor of this list' },
  Base64EncodedBinary: {
    accepts: (text) => /^[A-Za-z0-9+/]*={0,2}$/.test(text) && text.length % 4 === 0,
    reason: 'must be Base64',
  },
};

/** Whether a reason is one of these, which quote nothing of the request. */
const isOwnReason = (reason: string | undefined) => Object.values(scalars).some((one) => one.reason === reason);

/** The documents of the requests under way. */
const queries = new WeakMap<object, string>();

/** A document that does not fit the schema is refused before anything runs, and its errors are not masked. */
export const finishErrors: Edit = (answer, { request }) => {
  const { errors } = answer.json;
  const isFinished = ({ extensions }: ShownError) => extensions?.code && !('statusCode' in extensions);
  if (!errors || errors.every(isFinished)) return answer;
  const query = queries.get(request) ?? '';
  return { ...answer, json: { ...answer.json, errors: errors.map((error) => finished(error, query)) } };
};

export const valuesPlugin: GraphileConfig.Plugin = {
  name: 'ValuesPlugin',
  version: '1.0.0',
  grafast: checking((args) => {
    checkVariables(args);
    checkPaging(args);
  }),
  grafserv: {
    middleware: {
      setPreset(next, event) {
        // Before the rules of GraphQL itself, whose texts name no field.
        event.validationRules = [exactNumbers, ...event.validationRules];
        return next();
      },
      processGraphQLRequestBody(next, { body, request }) {
        const key = request?.requestContext.expressv4?.req;
        if (key && typeof body.query === 'string') queries.set(key, body.query);
        return next();
      },
    },
  },
  schema: {
    hooks: {
      GraphQLScalarType(config) {
        const rule = scalars[config.name];
        if (!rule) return config;
        const { parseValue, parseLiteral } = config;
        // A GraphQLError would be reported without its place in the document.
        const check = (value: unknown) => {
          const text = typeof value === 'number' ? String(value) : value;
          if (typeof text !== 'string' || !rule.accepts(text)) throw new Error(rule.reason);
        };
        return {
          ...config,
          ...(parseValue && {
            parseValue: (value) => {
              check(value);
              return parseValue(value);
            },
          }),
          ...(parseLiteral && {
            parseLiteral: (node, variables) => {
              check('value' in node && node.kind === Kind.STRING ? node.value : null);
              return parseLiteral(node, variables);
            },
          }),
        };
      },
    },
  },
};
