// The bench of replicas runs on little data. Its figures are not tested.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

it('measures which part of a search leaves the primary, as npm run bench:replicas', async () => {
  const args = ['bench/replicas.ts', '--rows', '2000', '--seconds', '0.5', '--rounds', '1'];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, {
    cwd: join(import.meta.dirname, '..'),
  }).catch(
    // It ends with 1 where a goal is not reached, which so short a run says nothing about.
    (error: { code: number; stdout: string; stderr: string }) => {
      if (error.code !== 1) throw error;
      return error;
    },
  );
  for (const replicas of ['1 replica', '2 replicas']) {
    for (const what of ['processor time of a search on the primary', 'processor time of a search on all servers'])
      expect(stdout, stderr).toMatch(new RegExp(`${replicas}: ${what} \\| without replicas \\| [0-9.]+ ms`));
    expect(stdout, stderr).toMatch(new RegExp(`${replicas}: the write of the record on the primary, p95 .*[0-9.]+ ms`));
  }
});
