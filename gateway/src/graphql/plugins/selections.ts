// What a GraphQL request asks for.
import {
  type DocumentNode,
  type ExecutionArgs,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLObjectType,
  type GraphQLSchema,
  getOperationAST,
  isAbstractType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  valueFromASTUntyped,
} from 'postgraphile/graphql';

/** Keeps what was found out about a node. A document is kept by its text, so that one that comes again has the same nodes. */
export function rememberedFor<Node extends object, Answer extends object>(
  find: (node: Node) => Answer,
): (node: Node) => Answer {
  const known = new WeakMap<Node, Answer>();
  return (node) => {
    const answer = known.get(node) ?? find(node);
    known.set(node, answer);
    return answer;
  };
}

export interface Asked {
  operation: OperationDefinitionNode;
  fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  /** With their default values. */
  variables: Readonly<Record<string, unknown>>;
}

export function fragmentsOf(document: DocumentNode): Map<string, FragmentDefinitionNode> {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const node of document.definitions) {
    if (node.kind === Kind.FRAGMENT_DEFINITION) fragments.set(node.name.value, node);
  }
  return fragments;
}

/** The operation of a document that runs, or null if there is none of that name. */
export function askedIn({ document, operationName, variableValues }: ExecutionArgs): Asked | null {
  const operation = getOperationAST(document, operationName);
  if (!operation) return null;
  const variables: Record<string, unknown> = { ...variableValues };
  for (const { variable, defaultValue } of operation.variableDefinitions ?? []) {
    if (defaultValue) variables[variable.name.value] ??= valueFromASTUntyped(defaultValue);
  }
  return { operation, fragments: fragmentsOf(document), variables };
}

/** The fields of an answer by their keys. One that is requested twice has the selections of both. */
export function fieldsIn(
  schema: GraphQLSchema,
  fragments: Asked['fragments'],
  type: GraphQLObjectType,
  selections: readonly SelectionSetNode[],
  into = new Map<string, FieldNode[]>(),
): Map<string, FieldNode[]> {
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
      if (applies) fieldsIn(schema, fragments, type, [fragment.selectionSet], into);
    }
  }
  return into;
}

type FragmentNamed = (name: string) => FragmentDefinitionNode | null | undefined;

/** How many fields a request calls: those at its top, of which `admin` counts as the fields in it. */
export const countCalls = (selectionSet: SelectionSetNode, fragmentNamed: FragmentNamed): number =>
  addUp(
    selectionSet,
    ({ name, selectionSet: inner }) =>
      name.value === 'admin' && inner
        ? Math.max(
            1,
            addUp(inner, () => 1, fragmentNamed, false),
          )
        : 1,
    fragmentNamed,
    false,
  );

/** Adds up the costs of fields. A fragment counts each time it is spread. */
export function addUp(
  selectionSet: SelectionSetNode,
  costOf: (field: FieldNode) => number,
  fragmentNamed: FragmentNamed,
  isDeep = true,
): number {
  const known = new Map<FragmentDefinitionNode, number>();
  const addUpFragment = (fragment: FragmentDefinitionNode): number => {
    if (!known.has(fragment)) {
      // Another rule refuses a fragment that contains itself.
      known.set(fragment, 0);
      known.set(fragment, add(fragment.selectionSet));
    }
    return known.get(fragment)!;
  };
  const add = ({ selections }: SelectionSetNode): number => {
    let costs = 0;
    for (const node of selections) {
      if (node.kind === Kind.INLINE_FRAGMENT) costs += add(node.selectionSet);
      else if (node.kind === Kind.FIELD)
        costs += costOf(node) + (isDeep && node.selectionSet ? add(node.selectionSet) : 0);
      else {
        const fragment = fragmentNamed(node.name.value);
        if (fragment) costs += addUpFragment(fragment);
      }
    }
    return costs;
  };
  return add(selectionSet);
}
