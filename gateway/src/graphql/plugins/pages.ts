// The size of pages, and what a request costs: its fields, each counted once for each row that the pages around it can have.
import { lambda, list } from 'postgraphile/grafast';
import {
  type ExecutionArgs,
  type FieldNode,
  GraphQLError,
  type GraphQLNamedType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type SelectionSetNode,
  valueFromASTUntyped,
} from 'postgraphile/graphql';
import { checking } from './checks.ts';
import { type Asked, askedIn } from './selections.ts';

const DEFAULT_PAGE = 50;
const MAX_PAGE = 1_000;
const MAX_COST = 100_000;

const pageSize = ([first, last]: readonly (number | null | undefined)[]) =>
  first ?? ((last ?? null) === null ? DEFAULT_PAGE : null);

/** Gives every connection and list of rows a page of 50, unless a request asks for another size. */
function limitPages(schema: GraphQLSchema): void {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type)) continue;
    for (const field of Object.values(type.getFields())) {
      const first = field.args.find(({ name }) => name === 'first');
      const last = field.args.find(({ name }) => name === 'last');
      const { plan } = field.extensions.grafast ?? {};
      // Operations that return a list page it themselves.
      if (!first?.extensions.grafast || !plan) continue;
      // Where callers begin; docs/reference/graphql.md says it for all.
      if (type === schema.getQueryType() && field.name === 'memories') {
        first.description = `The first rows: ${DEFAULT_PAGE} by default, at most ${MAX_PAGE}.`;
        last!.description = `The last rows: at most ${MAX_PAGE}.`;
      }
      first.extensions = {};
      field.extensions = {
        ...field.extensions,
        grafast: {
          ...field.extensions.grafast,
          plan: ($parent, args, info) => {
            // A function that writes, such as facts_as_of(), can depend only on steps before it.
            const given = [args.getRaw('first'), ...(last ? [args.getRaw('last')] : [])];
            const $first = lambda(list(given), pageSize, true);
            const $rows = plan($parent, args, info);
            $rows.setFirst($first);
            return $rows;
          },
        },
      };
    }
  }
}

const isList = (type: GraphQLOutputType): boolean => isListType(isNonNullType(type) ? type.ofType : type);

/** Throws a GraphQLError when a page is larger than is allowed. */
function costOf(schema: GraphQLSchema, { operation, fragments, variables }: Asked): number {
  const ofFragments = new Map<string, number>();

  const ofSelections = (
    { selections }: SelectionSetNode,
    type: GraphQLNamedType | null | undefined,
    rows: number,
  ): number => {
    let cost = 0;
    for (const node of selections) {
      if (node.kind === Kind.FIELD) cost += ofField(node, type, rows);
      else if (node.kind === Kind.INLINE_FRAGMENT) {
        const narrowed = node.typeCondition ? schema.getType(node.typeCondition.name.value) : type;
        cost += ofSelections(node.selectionSet, narrowed, rows);
      } else cost += ofFragment(node.name.value, rows);
    }
    return cost;
  };

  const ofFragment = (name: string, rows: number): number => {
    const fragment = fragments.get(name);
    if (!fragment) return 0;
    const key = `${name} ${rows}`;
    if (!ofFragments.has(key)) {
      ofFragments.set(key, 0);
      const type = schema.getType(fragment.typeCondition.name.value);
      ofFragments.set(key, ofSelections(fragment.selectionSet, type, rows));
    }
    return ofFragments.get(key)!;
  };

  /** `rows` are those of the connection, if the field is one of a connection. */
  const ofField = (node: FieldNode, parent: GraphQLNamedType | null | undefined, rows: number): number => {
    const field = parent && 'getFields' in parent ? parent.getFields()[node.name.value] : undefined;
    // Introspection has limits of its own.
    if (!field || !('args' in field)) return 1;
    const isPaged = field.args.some(({ name }) => name === 'first');
    const page = isPaged ? pageOf(node) : DEFAULT_PAGE;
    if (!node.selectionSet) return 1;
    const type = getNamedType(field.type);
    if (isPaged && !isList(field.type)) return 1 + ofSelections(node.selectionSet, type, page);
    const isOfConnection = parent!.name.endsWith('Connection');
    const times = isList(field.type) ? (isOfConnection ? rows : page) : 1;
    return 1 + times * ofSelections(node.selectionSet, type, 1);
  };

  const pageOf = ({ arguments: given = [] }: FieldNode): number => {
    const sizes = given
      .filter(({ name }) => name.value === 'first' || name.value === 'last')
      .map(({ name, value }) => ({ name: name.value, size: valueFromASTUntyped(value, variables) }))
      .filter((asked): asked is { name: string; size: number } => typeof asked.size === 'number');
    for (const { name, size } of sizes)
      if (size > MAX_PAGE) throw limitError(`${name}: at most ${MAX_PAGE} rows a page`, name);
    return sizes[0] ? Math.max(0, sizes[0].size) : DEFAULT_PAGE;
  };

  const root = schema.getRootType(operation.operation);
  return ofSelections(operation.selectionSet, root, 1);
}

const limitError = (message: string, field: string) =>
  new GraphQLError(message, { extensions: { code: 'LIMIT_EXCEEDED', sqlstate: 'L9LIM', field } });

function checkCost(args: ExecutionArgs): void {
  const asked = askedIn(args);
  if (!asked) return;
  const cost = costOf(args.schema, asked);
  if (cost > MAX_COST) {
    throw limitError(
      `query: costs ${cost}, at most ${MAX_COST}: each field counts for each row of the pages around it. Ask for smaller pages`,
      'query',
    );
  }
}

export const pagesPlugin: GraphileConfig.Plugin = {
  name: 'PagesPlugin',
  version: '1.0.0',
  schema: {
    hooks: {
      finalize(schema) {
        limitPages(schema);
        return schema;
      },
    },
  },
  grafast: checking(checkCost),
};
