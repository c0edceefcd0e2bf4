const TRIM_FROM_BYTES = 128 * 1024;

/**
 * Replaces this process by the same one with a setting of the C library that it reads only at its start. Without it glibc
 * keeps most of the memory that is freed: 150 MB after a start. Other systems have no need of it, or no such setting.
 */
export function restartWithMallocTrim(): void {
  const { platform, env, execPath, execArgv, argv } = process;
  // A process with a channel to its parent, such as one of --watch, would lose it.
  if (platform !== 'linux' || env.MALLOC_TRIM_THRESHOLD_ || process.send || !process.execve) return;
  process.execve(execPath, [execPath, ...execArgv, ...argv.slice(1)], {
    ...env,
    MALLOC_TRIM_THRESHOLD_: String(TRIM_FROM_BYTES),
  });
}
