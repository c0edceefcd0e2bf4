// Before the tests: builds the TypeScript client again if its sources are newer than what was built.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { changedAt, newest } from '../tests/build-console.js';

const root = join(import.meta.dirname, '..');
const SOURCES = ['clients/typescript/src', 'clients/typescript/package.json', 'interop/package-lock.json'];

export default function buildClient() {
  const built = changedAt(join(import.meta.dirname, 'node_modules/@l9-memory/client/dist/index.js'));
  if (SOURCES.some((source) => newest(join(root, source)) > built))
    execFileSync(process.execPath, [join(root, 'scripts/build-client.ts')], { stdio: 'inherit' });
}
