import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { backoffSeconds } from '../../src/jobs/backoff.ts';

describe('the wait after failures', () => {
  it('doubles with each failure in a row, up to its limit', () => {
    assert.deepEqual(
      [0, 1, 2, 3, 4, 5, 6, 100].map((failures) => backoffSeconds(failures, 60)),
      [2, 2, 4, 8, 16, 32, 60, 60],
    );
    assert.equal(backoffSeconds(5_000, 3600), 3600);
  });
});
