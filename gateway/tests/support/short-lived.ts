import { join } from 'node:path';

/** Variables of a process that a test starts and soon ends, for a start with less work. */
export const SHORT_LIVED: Record<string, string> = {
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '',
  NODE_OPTIONS: `--require=${join(import.meta.dirname, 'short-lived.cjs')}`,
};
