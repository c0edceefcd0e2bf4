// A file that takes minutes and starts last keeps one worker busy while the others have nothing left to do. Jest orders files by
// their last time, which says nothing on a new machine or after a run on the other engine.
import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import Sequencer from '@jest/test-sequencer';

/** The files that take more than a minute on some engine, as a long run lists them at its end. */
const LONGEST = [
  'gateway/tests/bench.test.ts',
  'gateway/tests/search/large-corpus.test.ts',
  'db/tests/secrets/long-texts.test.ts',
  'db/tests/search/hidden-rows/hidden-rows.test.ts',
  'gateway/tests/archive/no-secrets.test.ts',
  'gateway/tests/access/model.test.ts',
  'gateway/tests/graphql/injection.test.ts',
  'gateway/tests/home/damaged.test.ts',
  'gateway/tests/home/crash.test.ts',
  'gateway/tests/archive/crash.test.ts',
  'gateway/tests/mcp/stdio.test.ts',
  'gateway/tests/database/one-session.test.ts',
  'gateway/tests/archive/stores.test.ts',
  'db/tests/hostile/injection.test.ts',
  'console/tests/review.test.ts',
];

for (const file of LONGEST) if (!existsSync(file)) throw new Error(`tests/longest-first.js: there is no file ${file}`);

export default class LongestFirst extends Sequencer {
  sort(tests) {
    const rankOf = ({ path, context }) => {
      const at = LONGEST.indexOf(relative(context.config.rootDir, path).replaceAll('\\', '/'));
      return at < 0 ? LONGEST.length : at;
    };
    return super.sort(tests).toSorted((one, other) => rankOf(one) - rankOf(other));
  }
}
