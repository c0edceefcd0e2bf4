// The names of all tests. A list of them reads as what the product does: "it" and a verb in the third person.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

const root = join(import.meta.dirname, '..');
const files = globSync('{clients,db/tests,gateway/tests,tests,interop,tools}/**/*.test.ts', {
  cwd: root,
  exclude: ['**/node_modules/**'],
})
  .map((path) => path.replaceAll('\\', '/'))
  .sort();

/** The texts that an expression can begin with, as far as they stand in the source. */
function beginnings(name: ts.Expression): string[] {
  if (ts.isStringLiteralLike(name)) return [name.text];
  if (ts.isConditionalExpression(name)) return [...beginnings(name.whenTrue), ...beginnings(name.whenFalse)];
  if (!ts.isTemplateExpression(name)) return [''];
  const [first] = name.templateSpans;
  return name.head.text ? [name.head.text] : beginnings(first!.expression).map((text) => text + first!.literal.text);
}

/** The names of the tests that a file has, or of the groups of tests. */
function namesIn(path: string, isNamed: (call: ts.CallExpression) => boolean): string[] {
  const source = ts.createSourceFile(path, readFileSync(join(root, path), 'utf8'), ts.ScriptTarget.Latest, true);
  const names: string[] = [];
  const visit = (node: ts.Node) => {
    if (ts.isCallExpression(node) && node.arguments.length >= 2 && isNamed(node))
      names.push(...beginnings(node.arguments[0]!));
    ts.forEachChild(node, visit);
  };
  visit(source);
  return names;
}

/** `it(…)`, `itOnServer(…)`, `it.skip(…)`, `it.each(…)(…)` and `(isThere ? it : it.skip)(…)`. */
const isTest = ({ expression }: ts.CallExpression) => /^\(?([\w!]+ \? )?(it|test)(On\w+)?\b/.test(expression.getText());
const isGroup = ({ expression }: ts.CallExpression) => /^\(?([\w!]+ \? )?describe(On\w+)?\b/.test(expression.getText());

// A verb in -s, or one that takes none ("can"), after an adverb if there is one. The other words only look like verbs.
const SENTENCE =
  /^((never|no longer|still|always|neither) )?(?!(as|this|its|these|those|whose|always|unless)\b)([a-z]+s|can|cannot|may|must)\b/;

describe('the name of a test', () => {
  it('continues "it" as a sentence, with a verb in the third person', () => {
    const names = files.flatMap((path) => namesIn(path, isTest).map((name) => ({ path, name })));
    expect(names.length).toBeGreaterThan(1_500);
    expect(names.filter(({ name }) => !SENTENCE.test(name)).map(({ path, name }) => `${path}: ${name}`)).toStrictEqual(
      [],
    );
  });

  it('has a subject in the group around it, which is no question and no value alone', () => {
    const names = files.flatMap((path) => namesIn(path, isGroup).map((name) => ({ path, name })));
    expect(names.length).toBeGreaterThan(300);
    const faults = names.filter(({ name }) => !name || /^((what|how|who|whether|and)\b|[%$]\w+$)/.test(name));
    expect(faults.map(({ path, name }) => `${path}: ${name}`)).toStrictEqual([]);
  });
});
