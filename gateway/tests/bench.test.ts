// Whether every bench still runs, on little data. How fast it is, is no test's business.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { promisify } from 'node:util';
import type { Results } from '../../bench/support/results.ts';
import { serverUrl } from './support/databases.ts';

const root = join(import.meta.dirname, '..', '..');
/** Mem0ai would have to be installed; the embedded engine's start has tests of its own, and takes its time. */
const benches = 'words,policies,graphql,point-read,search,few-visible,recall,graph,running,audit,save';

describe('npm run bench', { skip: !serverUrl && 'needs TEST_DATABASE_URL' }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'l9-bench-test-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('runs every bench to its end and writes down what each found', { timeout: 240_000 }, async () => {
    const json = join(folder, 'results.json');
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      ['bench/run.ts', '--rows', '2000', '--seconds', '0.1', '--only', benches, '--json', json],
      { cwd: root },
      // It ends with 1 where a goal is not reached, which so little data says nothing about.
    ).catch((error: { code: number; stdout: string; stderr: string }) => {
      if (error.code !== 1) throw error;
      return error;
    });
    const { results, failures, rows } = JSON.parse(readFileSync(json, 'utf8')) as Results;
    assert.deepEqual(failures, [], stderr);
    assert.equal(rows, 2_000);
    const counts = Object.groupBy(results, ({ bench }) => bench!);
    const expected = {
      words: 2,
      policies: 6,
      graphql: 2,
      'point-read': 2,
      search: 3,
      'few-visible': 3,
      recall: 3,
      graph: 10,
      running: 5,
      audit: 3,
      save: 2,
    };
    assert.deepEqual(Object.fromEntries(Object.entries(counts).map(([name, list]) => [name, list!.length])), expected);
    for (const { what, ours, figure } of results) {
      assert.ok(Number.isFinite(ours) && Number.isFinite(figure), what);
      assert.ok(stdout.includes(what), what);
    }
  });
});
