// What a registry reads of the package. `npm run check:package` packs, installs and uses it.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const root = join(import.meta.dirname, '..');
const read = (file: string) => JSON.parse(readFileSync(join(root, file), 'utf8'));
const manifest = read('package.json');

// The schema that server.json names, https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json, as far as an npm
// package over stdio goes. The registry also refuses a version that is a range, and fields it does not know are mistakes here.
const version = z
  .string()
  .max(255)
  .regex(/^\d+\.\d+\.\d+(-[\w.]+)?$/);
const input = {
  description: z.string().optional(),
  isRequired: z.boolean().optional(),
  format: z.enum(['string', 'number', 'boolean', 'filepath']).optional(),
  value: z.string().optional(),
  isSecret: z.boolean().optional(),
  default: z.string().optional(),
  placeholder: z.string().optional(),
  choices: z.array(z.string()).optional(),
};
const schema = z.strictObject({
  $schema: z.literal('https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json'),
  name: z
    .string()
    .min(3)
    .max(200)
    .regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/),
  title: z.string().min(1).max(100).optional(),
  description: z.string().min(1).max(100),
  version,
  websiteUrl: z.url().optional(),
  repository: z.strictObject({ url: z.url(), source: z.literal('github') }).optional(),
  packages: z.array(
    z.strictObject({
      registryType: z.literal('npm'),
      registryBaseUrl: z.literal('https://registry.npmjs.org'),
      identifier: z.string(),
      version,
      runtimeHint: z.literal('npx'),
      transport: z.strictObject({ type: z.literal('stdio') }),
      packageArguments: z.array(
        z.discriminatedUnion('type', [
          // A positional argument has a value or a hint.
          z.strictObject({ ...input, type: z.literal('positional'), value: z.string() }),
          z.strictObject({ ...input, type: z.literal('named'), name: z.string().startsWith('-') }),
        ]),
      ),
      environmentVariables: z.array(z.strictObject({ ...input, name: z.string().regex(/^[A-Z][A-Z0-9_]*$/) })),
    }),
  ),
});

describe('server.json', () => {
  const server = read('server.json');

  it('keeps the schema of the MCP registry', () => {
    expect(schema.safeParse(server).error?.issues ?? []).toStrictEqual([]);
  });

  it('names the package, its version and its repository as package.json does', () => {
    const [entry] = server.packages;
    expect([server.name, server.version, entry.identifier, entry.version]).toStrictEqual([
      manifest.mcpName,
      manifest.version,
      manifest.name,
      manifest.version,
    ]);
    expect(manifest.repository.url).toBe(`git+${server.repository.url}.git`);
    const [, owner] = /^https:\/\/github\.com\/([^/]+)\//.exec(server.repository.url)!;
    expect(server.name, 'the registry lets the owner of the repository publish').toBe(
      `io.github.${owner}/${manifest.name}`,
    );
  });

  it('names settings that there are', () => {
    const example = readFileSync(join(root, '.env.example'), 'utf8');
    for (const { name } of server.packages[0].environmentVariables)
      expect(example).toMatch(new RegExp(`^#? ?${name}=`, 'm'));
  });
});

describe('package.json', () => {
  it('lists files that there are, but for those that are built', () => {
    const missing = manifest.files.filter((file: string) => file !== 'dist' && !existsSync(join(root, file)));
    expect(missing).toStrictEqual([]);
  });

  it('installs with the package only what cannot be built into it', () => {
    expect(Object.keys(manifest.dependencies).filter((name) => !name.startsWith('@electric-sql/'))).toStrictEqual([
      'openai',
    ]);
    expect(Object.keys(manifest.peerDependencies)).toStrictEqual(Object.keys(manifest.peerDependenciesMeta));
    expect(manifest.optionalDependencies).toHaveProperty('onnxruntime-node');
  });

  it('installs the native runtime in this folder, which npm leaves out without a word where its script fails', () => {
    expect(existsSync(join(root, 'node_modules', 'onnxruntime-node', 'package.json'))).toBe(true);
  });

  it('has exact versions of everything', () => {
    const { dependencies, devDependencies, optionalDependencies } = manifest;
    const ranges = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies }).filter(
      ([, wanted]) => !/^(npm:[a-z-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(String(wanted)),
    );
    expect(ranges).toStrictEqual([]);
  });
});
