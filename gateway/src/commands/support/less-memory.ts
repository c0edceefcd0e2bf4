import { setFlagsFromString } from 'node:v8';
import { keepCompiledModules } from '../../home/cache.ts';

const TRIM_FROM_BYTES = 128 * 1024;
// V8 would let the space of new objects, two such semi-spaces, grow to 128 MB. Smaller ones than these cost processor time.
const SPACE_OF_NEW_OBJECTS = '--max-semi-space-size';
const SEMI_SPACE_MB = 8;
// How much the old objects may grow before they are collected. V8 would let them double; V8's later versions may ignore it.
const GROWTH = '--heap-growing-percent=20';

/**
 * Replaces this process by the same one with settings of the C library and of V8 that they read only at their start. Without the first one
 * glibc keeps most of the memory that is freed: 150 MB after a start. Other systems have no need of it, or no such setting.
 */
export function restartWithLessMemory(): void {
  const { platform, env, execPath, execArgv, argv } = process;
  setFlagsFromString(GROWTH);
  // A process with a channel to its parent, such as one of --watch, would lose it.
  if (platform !== 'linux' || env.MALLOC_TRIM_THRESHOLD_ || process.send || !process.execve) return;
  keepCompiledModules();
  const isGiven = [...execArgv, env.NODE_OPTIONS ?? ''].some((given) => given.includes(SPACE_OF_NEW_OBJECTS));
  const limit = isGiven ? [] : [`${SPACE_OF_NEW_OBJECTS}=${SEMI_SPACE_MB}`];
  process.execve(execPath, [execPath, ...limit, ...execArgv, ...argv.slice(1)], {
    ...env,
    MALLOC_TRIM_THRESHOLD_: String(TRIM_FROM_BYTES),
  });
}
