import { join } from 'node:path';

/** Variables of a process that a test starts and soon ends, for a start with less work. */
export const SHORT_LIVED: Record<string, string> = {
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '',
  // In quotation marks, since the path may have spaces.
  NODE_OPTIONS: `--require=${JSON.stringify(join(import.meta.dirname, 'short-lived.cjs'))}`,
};
