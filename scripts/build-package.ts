// Makes what `npm pack` packs: dist/gateway, the gateway as JavaScript with the packages it rests on, its types, and the template of
// the database. The packages are built in because two of them would bring 340 MB that nothing here loads: builds of the web engine for
// browsers, and the parts that the GraphQL editor was made of.
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type Plugin, rolldown } from 'rolldown';
import { packFolder } from '../gateway/src/server/packed-template.ts';
import { ensureTemplate, packedTemplate } from '../gateway/src/server/template.ts';

const root = join(import.meta.dirname, '..');
const source = join(root, 'gateway', 'src');
const target = join(root, 'dist', 'gateway');

// What is installed beside the package: engines that consist of more than JavaScript, and clients that not everyone needs.
const { dependencies, optionalDependencies, peerDependencies } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
) as Record<'dependencies' | 'optionalDependencies' | 'peerDependencies', Record<string, string>>;
const INSTALLED = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies });
const isInstalled = (id: string) => INSTALLED.some((name) => id === name || id.startsWith(`${name}/`));

// Packages of others try to load them, and go on without.
const NOT_BUILT_IN = ['pg-native', 'typescript'];

// What the web engine looks for beside the file that it is in.
const WEB_ENGINE = ['ort-wasm-simd-threaded.mjs', 'ort-wasm-simd-threaded.wasm'];

/** Ruru, the GraphQL editor, without its source maps, which are three quarters of it. */
const withoutMapsOfRuru: Plugin = {
  name: 'without-maps-of-ruru',
  load: (id) => (id.endsWith('ruru/dist/bundleMeta.js') ? 'exports.bundleData = {};' : null),
};

// The console is the other part of dist/, and has a build of its own.
for (const entry of existsSync(join(root, 'dist')) ? readdirSync(join(root, 'dist')) : [])
  if (entry !== 'console') rmSync(join(root, 'dist', entry), { recursive: true });
mkdirSync(target, { recursive: true });

const bundle = await rolldown({
  // Programs that run in threads and processes of their own are files of their own.
  input: {
    index: join(source, 'index.ts'),
    main: join(source, 'main.ts'),
    cli: join(source, 'cli.ts'),
    hook: join(source, 'hook.ts'),
    'engine-thread': join(source, 'database', 'engine-thread.ts'),
    'json-thread': join(source, 'http', 'json-thread.ts'),
    'local-worker': join(source, 'embeddings', 'local-worker.ts'),
  },
  platform: 'node',
  external: (id) => isInstalled(id) || NOT_BUILT_IN.includes(id),
  // As Node resolves packages: another build of graphql would be another graphql.
  resolve: {
    mainFields: ['main'],
    // Its main file is of a kind that can't be built in.
    alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
  },
  plugins: [withoutMapsOfRuru],
});
const { output } = await bundle.write({
  dir: target,
  format: 'esm',
  sourcemap: true,
  // The texts of sources are on GitHub and in the packages, and would double the size.
  sourcemapExcludeSources: true,
  chunkFileNames: '[name]-[hash].js',
});
await bundle.close();

const engineFolder = dirname(createRequire(import.meta.url).resolve('onnxruntime-web'));
for (const file of WEB_ENGINE) copyFileSync(join(engineFolder, file), join(target, file));

const template = await ensureTemplate();
if (!template) throw new Error('the template of the database could not be made: no folder can be written to');
writeFileSync(packedTemplate(), packFolder(template));

// The licences of what is built in ask to be passed on with it.
const packages = new Set<string>();
for (const chunk of output) {
  for (const id of chunk.type === 'chunk' ? chunk.moduleIds : []) {
    const [, folder] = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id) ?? [];
    if (folder) packages.add(folder);
  }
}
writeFileSync(
  join(target, 'LICENSES.txt'),
  [...packages]
    .sort()
    .map(licenceOf)
    .join(`\n${'-'.repeat(80)}\n`),
);

execFileSync(
  process.execPath,
  [join(root, 'node_modules/typescript-7/bin/tsc'), '-p', join(root, 'scripts', 'tsconfig.types.json')],
  { stdio: 'inherit' },
);

function licenceOf(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const texts = readdirSync(folder)
    .filter((file) => /^(licen[cs]e|notice)/i.test(file))
    .map((file) => readFileSync(join(folder, file), 'utf8').trim());
  return [`${name} ${version} (${license})`, ...texts].join('\n\n').concat('\n');
}
