// `npm test`: every *.test.ts under db/ and gateway/, on the embedded engine or, with TEST_DATABASE_URL, on that
// server. Arguments name files to run instead. The last line is `N passed, N failed`.
import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { pathToFileURL } from 'node:url';
import { engine } from './databases.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const named = process.argv.slice(2);
const files =
  named.length > 0 ? named : globSync(['db/tests/**/*.test.ts', 'gateway/tests/**/*.test.ts'], { cwd: root });
const counts = { passed: 0, failed: 0 };

// Every process would compile all of the gateway anew.
process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'l9-memory-compile-cache');

const SIDE_BY_SIDE = 2;
const folder = mkdtempSync(join(tmpdir(), 'l9-test-run-'));

/** Files that share a process, and with it modules and engine: fewer towards the end, so that all sides end together. */
function shared(all: readonly string[]): string[] {
  const groups: string[] = [];
  for (let rest = all; rest.length > 0; ) {
    const size = Math.ceil(rest.length / (6 * SIDE_BY_SIDE));
    const group = join(folder, `${groups.length}.mjs`);
    const imports = rest
      .slice(0, size)
      .map((file) => `import ${JSON.stringify(pathToFileURL(join(root, file)).href)};\n`);
    writeFileSync(group, imports.join(''));
    groups.push(group);
    rest = rest.slice(size);
  }
  return groups;
}

console.log(`${files.length} files on the ${engine} engine`);
const stream = run({
  files: shared(files.sort()),
  concurrency: SIDE_BY_SIDE,
  // Of a test, and of a process.
  timeout: 900_000,
  // Few tests run for so long that compiling PostgreSQL's WebAssembly a second time, and better, is worth it.
  execArgv: engine === 'embedded' ? ['--wasm-tiering-budget=200000000', '--max-semi-space-size=64'] : [],
});
// Only tests count, not the suites and files around them; but a file that breaks outside a test has failed.
stream.on('test:pass', ({ details, skip, todo }) => {
  if (details.type !== 'suite' && skip === undefined && todo === undefined) counts.passed += 1;
});
stream.on('test:fail', ({ details }) => {
  if (details.type !== 'suite') counts.failed += 1;
});
stream.compose(new spec()).pipe(process.stdout);
stream.on('end', () => {
  rmSync(folder, { recursive: true, force: true });
  process.exitCode = counts.failed > 0 || counts.passed === 0 ? 1 : 0;
  process.on('exit', () => console.log(`\n${counts.passed} passed, ${counts.failed} failed`));
});
