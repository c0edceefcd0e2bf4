#!/usr/bin/env node
// `l9-memory <command>`. The commands are defined in cli/; each is a file in commands/, which is loaded when it is run.
import { Command } from 'commander';
import { version } from './base/version.ts';
import { accessCommands } from './cli/access.ts';
import { archiveCommands } from './cli/archive.ts';
import { backupCommands } from './cli/backup.ts';
import { databaseCommands } from './cli/database.ts';
import { editorCommands } from './cli/editors.ts';
import { memoriesCommands } from './cli/memories.ts';
import { reviewCommands } from './cli/review.ts';
import { serverCommands } from './cli/server.ts';

const program = new Command('l9-memory')
  .description('Long-term memory for AI agents, in Postgres.')
  .version(version)
  .enablePositionalOptions()
  .showHelpAfterError();

const groups: [string, (program: Command) => void][] = [
  ['Memories:', memoriesCommands],
  ['Server:', serverCommands],
  ['Editors:', editorCommands],
  ['Reviews:', reviewCommands],
  ['Sessions:', archiveCommands],
  ['Access and audit:', accessCommands],
  ['Backups:', backupCommands],
  ['Database:', databaseCommands],
];
for (const [heading, define] of groups) define(program.commandsGroup(heading));

try {
  // Without a command, it says what runs here.
  await program.parseAsync(process.argv.length > 2 ? process.argv : [...process.argv, 'status']);
} catch (error) {
  process.stderr.write(`l9-memory: ${(error as Error).message}\n`);
  process.exitCode = 1;
}
