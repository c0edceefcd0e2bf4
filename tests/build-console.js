// Before the tests: builds the console again if its sources are newer than dist/console.
import { execFileSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const SOURCES = [
  'console/src',
  'console/index.html',
  'console/vite.config.ts',
  'gateway/schema.graphql',
  'package-lock.json',
];

export const changedAt = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;

export function newest(path) {
  const own = changedAt(path);
  if (!statSync(path).isDirectory()) return own;
  return readdirSync(path, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.d.ts'))
    .reduce((latest, entry) => Math.max(latest, changedAt(join(entry.parentPath, entry.name))), own);
}

export default function buildConsole() {
  const built = changedAt(join(root, 'dist/console/index.html'));
  if (SOURCES.some((source) => newest(join(root, source)) > built)) {
    execFileSync(process.execPath, [join(root, 'scripts/build-console.ts')], { stdio: 'inherit' });
  }
}
