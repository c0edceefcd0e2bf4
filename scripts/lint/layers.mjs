// The layers of the gateway. A module may import from its own layer and from those below it, never from one above.
const src = '^gateway/src/';
/** The layers from the top down. The folders of one layer may import each other. */
const layers = [
  ['main.ts', 'cli.ts', 'hook.ts', 'index.ts'],
  ['cli/'],
  ['commands/'],
  ['gateway.ts'],
  ['server/', 'mcp/', 'graphql/', 'http/', 'console/'],
  ['archive/', 'editors/', 'extraction/', 'jobs/', 'operations/', 'recall/'],
  ['home/', 'auth/', 'audit/', 'database/', 'embeddings/', 'metrics/'],
  ['base/', 'config/', 'input/'],
];
const pattern = (paths) => `${src}(${paths.map((path) => path.replace('.', '\\.')).join('|')})`;

const upward = layers.slice(1).map((layer, index) => ({
  name: `no-import-above-${layer[0].replace(/[/.].*/, '')}`,
  comment: 'A layer does not know the layers above it.',
  severity: 'error',
  from: { path: pattern(layer) },
  to: { path: pattern(layers.slice(0, index + 1).flat()) },
}));

export default {
  forbidden: [
    ...upward,
    {
      name: 'no-circle',
      comment: 'Modules that import each other can only be understood together.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-import-from-tests-or-bench',
      comment: 'The product does not rest on its tests, benches or scripts.',
      severity: 'error',
      from: { path: [src, '^tools/'], pathNot: '/tests/' },
      to: { path: '^(bench|db|scripts|gateway/tests)/' },
    },
    {
      name: 'no-gateway-in-the-console',
      comment: 'The console is a client of the API, as any other.',
      severity: 'error',
      from: { path: '^console/src/' },
      to: { path: '^(gateway|db|tools|scripts|tests|bench)/' },
    },
    {
      name: 'no-tool-unless-asked',
      comment: 'A tool is loaded only when its command is called.',
      severity: 'error',
      from: { path: src },
      to: { path: '^tools/', dynamic: false },
    },
    {
      name: 'no-unlayered-file',
      comment: 'A new folder or file of gateway/src has a place in the list of layers.',
      severity: 'error',
      from: { path: src, pathNot: pattern(layers.flat()) },
      to: {},
    },
    {
      name: 'no-unresolvable',
      comment: 'An import that does not resolve would not be checked.',
      severity: 'error',
      from: { path: src },
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['node', 'import', 'default', 'types'] },
  },
};
