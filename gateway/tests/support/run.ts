// `npm test`: every *.test.ts under db/ and gateway/, on the embedded engine or, with TEST_DATABASE_URL, on that
// server. Arguments name files to run instead. The last line is `N passed, N failed`.
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { engine } from './databases.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const named = process.argv.slice(2);
const files =
  named.length > 0 ? named : globSync(['db/tests/**/*.test.ts', 'gateway/tests/**/*.test.ts'], { cwd: root });
const counts = { passed: 0, failed: 0 };

console.log(`${files.length} files on the ${engine} engine`);
const stream = run({ files: files.sort().map((file) => join(root, file)), concurrency: 2, timeout: 300_000 });
// Only tests count, not the suites and files around them; but a file that breaks outside a test has failed.
stream.on('test:pass', ({ details, skip, todo }) => {
  if (details.type !== 'suite' && skip === undefined && todo === undefined) counts.passed += 1;
});
stream.on('test:fail', ({ details }) => {
  if (details.type !== 'suite') counts.failed += 1;
});
stream.compose(new spec()).pipe(process.stdout);
stream.on('end', () => {
  process.exitCode = counts.failed > 0 || counts.passed === 0 ? 1 : 0;
  process.on('exit', () => console.log(`\n${counts.passed} passed, ${counts.failed} failed`));
});
