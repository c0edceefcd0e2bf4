// The second half of `npm run lint`: whether modules import from their own layer and from those below it, as layers.mjs says.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const here = import.meta.dirname;
const checker = join(here, 'node_modules', 'dependency-cruiser', 'bin', 'dependency-cruiser.mjs');

if (!existsSync(checker)) {
  process.stderr.write('npm ci in scripts/lint\n');
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: here,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}
const { status } = spawnSync(
  process.execPath,
  [checker, '--config', join(here, 'layers.mjs'), 'gateway/src', 'tools', 'console/src'],
  { cwd: join(here, '..', '..'), stdio: 'inherit' },
);
process.exitCode = status ?? 1;
