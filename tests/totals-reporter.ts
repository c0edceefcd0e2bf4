// Ends the output with the line `N passed, N failed`. A run without any test fails.
import type { AggregatedResult, Reporter } from '@jest/reporters';

export default class TotalsReporter implements Pick<Reporter, 'onRunComplete' | 'getLastError'> {
  readonly #isWatching: boolean;
  #error: Error | undefined;

  constructor({ watch, watchAll }: { watch: boolean; watchAll: boolean }) {
    this.#isWatching = watch || watchAll;
  }

  onRunComplete(_: unknown, results: AggregatedResult) {
    const passed = results.numPassedTests;
    // A file that breaks outside its tests counts as one that failed.
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    if (passed + failed === 0) this.#error = new Error('no test was run');
    const print = () => console.log(`\n${passed} passed, ${failed} failed`);
    if (this.#isWatching) print();
    else process.on('exit', print);
  }

  getLastError() {
    return this.#error;
  }
}
