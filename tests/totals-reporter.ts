// Ends the output with the slowest files, one line for each failed test, since a log is often cut in the middle, and the line
// `N passed, N failed`.
// A run without any test fails.
import { relative } from 'node:path';
import type { AggregatedResult, Reporter } from '@jest/reporters';

const REASON_CHARACTERS = 400;
const onOneLine = (reason = '') =>
  reason
    .replace(/\n *at [\s\S]*/, '')
    .replace(/\s+/g, ' ')
    .slice(0, REASON_CHARACTERS);

/** The message of a failed test begins with its name. */
function* failuresOf({ testResults, snapshot }: AggregatedResult) {
  for (const { testFilePath, testExecError, testResults: tests } of testResults) {
    const file = relative(process.cwd(), testFilePath);
    if (testExecError) yield `failed: ${file}: ${onOneLine(testExecError.message)}`;
    for (const { status, failureMessages } of tests)
      if (status === 'failed') yield `failed: ${file}: ${onOneLine(failureMessages[0])}`;
  }
  // Jest fails a run for a golden file that no test compared, but it counts no test as failed for it.
  for (const { filePath, keys } of snapshot.failure ? snapshot.uncheckedKeysByFile : [])
    yield `failed: ${relative(process.cwd(), filePath)}: no test compared ${keys.length} of its snapshots`;
}

const MOST_SLOW_FILES = 25;

/** The files that took longest, which is where a long run can be made shorter. */
const slowestOf = ({ testResults }: AggregatedResult) =>
  testResults
    .map(({ testFilePath, perfStats: { start, end } }) => ({
      file: relative(process.cwd(), testFilePath),
      seconds: Math.round((end - start) / 1000),
    }))
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, MOST_SLOW_FILES)
    .map(({ file, seconds }) => `slow: ${seconds} s ${file}`);

export default class TotalsReporter implements Pick<Reporter, 'onRunComplete' | 'getLastError'> {
  readonly #isWatching: boolean;
  #error: Error | undefined;

  constructor({ watch, watchAll }: { watch: boolean; watchAll: boolean }) {
    this.#isWatching = watch || watchAll;
  }

  onRunComplete(_: unknown, results: AggregatedResult) {
    const passed = results.numPassedTests;
    // A file that breaks outside its tests counts as one that failed.
    const failures = [...failuresOf(results)];
    const failed = failures.length;
    if (passed + failed === 0) this.#error = new Error('no test was run');
    const ends = [...(results.numTotalTestSuites > MOST_SLOW_FILES ? slowestOf(results) : []), ...failures];
    const print = () => console.log(['', ...ends, `${passed} passed, ${failed} failed`].join('\n'));
    if (this.#isWatching) print();
    else process.on('exit', print);
  }

  getLastError() {
    return this.#error;
  }
}
