// `npm run build:client`: compiles clients/typescript to its folder dist, and puts the package, as npm would, where the tests of interop/
// import it by its name. The libraries that its adapters are for come from interop/, so `npm ci --prefix interop` goes before it.
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const client = join(root, 'clients', 'typescript');
const installed = join(root, 'interop', 'node_modules');
if (!existsSync(installed)) throw new Error('run `npm ci --prefix interop --ignore-scripts` first');

rmSync(join(client, 'dist'), { recursive: true, force: true });
execFileSync(process.execPath, [join(root, 'node_modules', 'typescript-7', 'bin', 'tsc'), '-p', client], {
  stdio: 'inherit',
});
copyFileSync(join(root, 'LICENSE'), join(client, 'dist', 'LICENSE'));

const target = join(installed, '@l9-memory', 'client');
rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
cpSync(join(client, 'dist'), join(target, 'dist'), { recursive: true });
copyFileSync(join(client, 'package.json'), join(target, 'package.json'));
