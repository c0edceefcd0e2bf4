// Every field, argument, field of an input and value of an enum of a GraphQL schema, and a request that reaches each.
import {
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'postgraphile/graphql';
import { type Dice, expected, hostile, type Known } from './values.ts';

type Field = GraphQLField<unknown, unknown>;
type Step = { owner: GraphQLObjectType; field: Field };

/** What one request puts to the test; its name is the coordinate in the schema. */
export interface Target {
  name: string;
  path: readonly Step[];
  /** The argument, and within it the fields that lead to the place of the hostile value. Without any, the field itself. */
  argument?: GraphQLArgument;
  inside?: readonly GraphQLInputField[];
  /** The value of an enum, for that place. */
  value?: string;
}

export interface Request {
  query: string;
  /** The JSON text of the variables. */
  variables: string;
}

const isRequired = ({ type, defaultValue }: GraphQLArgument | GraphQLInputField) =>
  isNonNullType(type) && defaultValue === undefined;

/** The shortest way to each type of object; arguments that have to be given count as a detour. */
function waysFrom(roots: readonly GraphQLObjectType[]): Map<string, Step[]> {
  const ways = new Map<string, { cost: number; path: Step[] }>();
  const open = roots.map((owner, place) => ({ owner, cost: place * 1_000, path: [] as Step[] }));
  while (open.length > 0) {
    open.sort((a, b) => b.cost - a.cost);
    const { owner, cost, path } = open.pop()!;
    if (ways.has(owner.name)) continue;
    ways.set(owner.name, { cost, path });
    for (const field of Object.values(owner.getFields())) {
      const next = getNamedType(field.type);
      if (!isObjectType(next) || ways.has(next.name)) continue;
      const detour = field.args.some(isRequired)
        ? 10
        : field.name === 'node' || field.name === 'query' || field.name === 'admin'
          ? 5
          : 1;
      open.push({ owner: next, cost: cost + detour, path: [...path, { owner, field }] });
    }
  }
  return new Map([...ways].map(([name, { path }]) => [name, path]));
}

export function targetsOf(schema: GraphQLSchema): Target[] {
  const targets: Target[] = [];
  // An input or an enum is tried once at each argument, not at each of the ways through nested inputs.
  const seen = new Set<string>();
  const walkInput = (target: Target, type: GraphQLInputType, inside: GraphQLInputField[], within: string[]) => {
    const named = getNamedType(type);
    if (isEnumType(named)) {
      const isKnown = seen.has(named.name);
      seen.add(named.name);
      // Where several arguments have one enum, the first gets all values.
      for (const { name: value } of isKnown ? [] : named.getValues())
        targets.push({ ...target, name: `${target.name}: ${named.name}.${value}`, inside, value });
    }
    if (!isInputObjectType(named) || within.includes(named.name)) return;
    for (const field of Object.values(named.getFields())) {
      const name = `${named.name}.${field.name}`;
      if (seen.has(name)) continue;
      seen.add(name);
      const deeper = [...inside, field];
      targets.push({ ...target, name: `${target.name}: ${name}`, inside: deeper });
      walkInput(target, field.type, deeper, [...within, named.name]);
    }
  };
  const ways = waysFrom([schema.getQueryType()!, schema.getMutationType()!]);
  for (const [type, path] of ways) {
    const owner = schema.getType(type) as GraphQLObjectType;
    for (const field of Object.values(owner.getFields())) {
      const target = { name: `${type}.${field.name}`, path: [...path, { owner, field }] };
      targets.push(target);
      for (const argument of field.args) {
        const ofArgument = { ...target, name: `${target.name}(${argument.name})`, argument };
        targets.push(ofArgument);
        walkInput(ofArgument, argument.type, [], []);
      }
    }
  }
  return targets;
}

/** The JSON text of a value of this type that gets far, apart from its place for a hostile one. */
function jsonOf(
  dice: Dice,
  name: string,
  type: GraphQLInputType,
  known: Known,
  inside?: readonly GraphQLInputField[],
  value?: string,
): string {
  const inner = getNullableType(type);
  const isPlace = inside?.length === 0;
  if (isPlace && value === undefined && !(isListType(inner) && dice.below(2) === 0))
    return hostile(dice, String(inner));
  if (isListType(inner)) {
    const items = Array.from({ length: 1 + (inside ? dice.below(3) : 0) }, () =>
      jsonOf(dice, name, inner.ofType as GraphQLInputType, known, inside, value),
    );
    return `[${items.join()}]`;
  }
  if (isEnumType(inner)) return JSON.stringify(value ?? dice.pick(inner.getValues()).name);
  if (!isInputObjectType(inner)) return expected(dice, name, String(inner), known);
  const [place, ...deeper] = inside ?? [];
  const given = Object.values(inner.getFields()).filter((field) => field === place || isRequired(field));
  const parts = given.map(
    (field) =>
      `${JSON.stringify(field.name)}:${jsonOf(dice, field.name, field.type, known, field === place ? deeper : undefined, value)}`,
  );
  return `{${parts.join()}}`;
}

/** What is asked of an answer: some of the fields that need no arguments, and of a connection its cursors. */
function selectionOf(dice: Dice, field: Field, depth = 0): string {
  const type = getNamedType(field.type);
  if (isAbstractType(type)) return '{ __typename }';
  if (!isObjectType(type)) return '';
  const fields = Object.values(type.getFields()).filter(({ args }) => !args.some(isRequired));
  const leaves = fields.filter(({ type }) => isLeafType(getNamedType(type)));
  const isConnection = 'pageInfo' in type.getFields();
  const cursors = 'edges' in type.getFields() ? ['edges { cursor }'] : [];
  const names = new Set(['__typename', ...(isConnection ? [...cursors, 'pageInfo { endCursor }'] : [])]);
  for (let n = 0; n < 3 && leaves.length > 0; n++) names.add(dice.pick(leaves).name);
  const others = fields.filter(({ name, type }) => name !== 'query' && !isLeafType(getNamedType(type)));
  if (depth < 2 && others.length > 0) {
    const other = dice.pick(others);
    if (!isConnection || other.name !== 'edges') names.add(`${other.name} ${selectionOf(dice, other, depth + 1)}`);
  }
  return `{ ${[...names].join(' ')} }`;
}

const TOGETHER = 4;

/** The targets that one request each puts: a hostile value alone, because it may be refused before anything runs; what is valid by fours. */
export function requestsOf(targets: readonly Target[]): Target[][] {
  const isHostile = ({ argument, value }: Target) => argument !== undefined && value === undefined;
  const valid = targets.filter((target) => !isHostile(target));
  const groups = ['Query', 'Mutation'].flatMap((root) => {
    const ofRoot = valid.filter(({ path }) => path[0]!.owner.name === root);
    const starts = ofRoot.map((_, place) => place).filter((place) => place % TOGETHER === 0);
    return starts.map((place) => ofRoot.slice(place, place + TOGETHER));
  });
  return [...targets.filter(isHostile).map((target) => [target]), ...groups];
}

/** A request for these targets, which are all of one kind of operation. */
export function requestFor(targets: readonly Target[], dice: Dice, known: Known): Request {
  const variables: string[] = [];
  const declarations: string[] = [];
  const argumentsOf = ({ args }: Field, target: Target | null) => {
    const given = args.filter((argument) => argument === target?.argument || isRequired(argument));
    const parts = given.map((argument) => {
      const inside = argument === target?.argument ? (target.inside ?? []) : undefined;
      const value = jsonOf(dice, argument.name, argument.type, known, inside, target?.value);
      const variable = `v${variables.length}`;
      variables.push(`"${variable}":${value}`);
      declarations.push(`$${variable}: ${argument.type}`);
      return `${argument.name}: $${variable}`;
    });
    return parts.length > 0 ? `(${parts.join(', ')})` : '';
  };
  const fields = targets.map((target, n) => {
    const steps = target.path.map(({ field }, place) => {
      const isTarget = place === target.path.length - 1;
      return `${field.name}${argumentsOf(field, isTarget ? target : null)} ${isTarget ? selectionOf(dice, field) : '{ '}`;
    });
    return `t${n}: ${steps.join('')}${' }'.repeat(steps.length - 1)}`;
  });
  const kind = targets[0]!.path[0]!.owner.name === 'Mutation' ? 'mutation' : 'query';
  const declared = declarations.length > 0 ? ` (${declarations.join(', ')})` : '';
  return { query: `${kind}${declared} { ${fields.join(' ')} }`, variables: `{${variables.join()}}` };
}
