#!/usr/bin/env node
// `l9-memory <command>`. The commands are defined in cli/; each is a file in commands/, which is loaded when it is run.
import { createProgram } from './cli/program.ts';

// A reader that has seen enough, such as `head`, is no fault of the command. What writes more stops by itself.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

/** The command where none is named: what runs here, and the list of a group that has one. */
function withCommand([group, ...rest]: string[]): string[] {
  if (group === undefined) return ['status'];
  const isAlone = rest[0] === undefined || /^-(?!h$|-help$)/.test(rest[0]);
  return isAlone && ['keys', 'review'].includes(group) ? [group, 'list', ...rest] : [group, ...rest];
}

try {
  await createProgram().parseAsync(withCommand(process.argv.slice(2)), { from: 'user' });
} catch (error) {
  process.stderr.write(`l9-memory: ${(error as Error).message}\n`);
  process.exitCode = 1;
}
