// Every bench runs on little data. Its figures are not tested.

import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Results } from '../../bench/support/results.ts';
import { engine } from '../../db/tests/support/engine.ts';
import { describeOnServer, itOnServer } from '../../db/tests/support/on-engine.ts';

const root = join(import.meta.dirname, '..', '..');
// The other sides of the comparisons connect to the server with options that a pooler refuses.
const inProject = { cwd: root, env: { ...process.env, TEST_PGBOUNCER_PORT: '' } };
/** Mem0ai would have to be installed; the embedded engine's start has tests of its own, and takes its time. */
const benches =
  'words,policies,graphql,point-read,search,memory_find,few-visible,recall,graph,running,audit,store,archive,save';

/** A bench ends with 1 where a goal is not reached, which so short a run with so little data says nothing about. */
function endedWithMissedGoal(error: { code: number; stdout: string; stderr: string }) {
  if (error.code !== 1) throw error;
  return error;
}

// On the embedded engine the same command takes minutes, and `npm run bench:load` is run there by hand.
itOnServer('reports errors, health, times and memory for each number of clients, as npm run bench:load', async () => {
  const args = ['bench/load.ts', '--engine', engine, '--clients', '2,4', '--seconds', '1'];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, inProject).catch(endedWithMissedGoal);
  for (const what of ['2 clients, errors', '4 clients, throughput', '4 clients, p95', '4 clients, /health max'])
    expect(stdout, stderr).toContain(`${engine} engine, ${what}`);
  expect(stdout).toMatch(/4 clients, errors \| {2}\| 0\.00/);
  expect(stdout).toMatch(/one quiet client while another floods, p95 \| alone/);
});

itOnServer('compares searches with those of another checkout, as npm run bench:before', async () => {
  // This checkout against itself: both use one database.
  const args = ['bench/before.ts', '--folder', '.', '--rows', '2000', '--rounds', '1'];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, inProject).catch(endedWithMissedGoal);
  const figures = [
    ...stdout.matchAll(/^\| (hybrid|memory_find fast), the caller sees [\d,]+ of 2,000.* ([\d.]+)× \|/gm),
  ];
  expect(
    figures.map(([, what]) => what),
    stderr,
  ).toStrictEqual([1, 2].flatMap(() => ['hybrid', ...Array(3).fill('memory_find fast')]));
  for (const [, , times] of figures) expect(Number(times)).toBeGreaterThan(0);
});

describeOnServer('npm run bench', () => {
  const folder = mkdtempSync(join(tmpdir(), 'l9-bench-test-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('runs every bench and writes the results of each', async () => {
    const json = join(folder, 'results.json');
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      ['bench/run.ts', '--rows', '2000', '--seconds', '0.1', '--only', benches, '--json', json],
      inProject,
    ).catch(endedWithMissedGoal);
    const { results, failures, rows } = JSON.parse(readFileSync(json, 'utf8')) as Results;
    expect(failures, stderr).toStrictEqual([]);
    expect(rows).toBe(2_000);
    const counts = Object.groupBy(results, ({ bench }) => bench!);
    const expected = {
      words: 2,
      policies: 6,
      graphql: 2,
      'point-read': 3,
      search: 3,
      memory_find: 4,
      'few-visible': 3,
      recall: 3,
      graph: 10,
      running: 7,
      audit: 3,
      archive: 5,
      save: 2,
      store: 2,
    };
    expect(Object.fromEntries(Object.entries(counts).map(([name, list]) => [name, list!.length]))).toStrictEqual(
      expected,
    );
    for (const { what, ours, figure } of results) {
      expect(Number.isFinite(ours), what).toBe(true);
      expect(Number.isFinite(figure), what).toBe(true);
      expect(stdout, what).toContain(what);
    }
  });
});
