// All commands, by their groups in the help.
import { Command } from 'commander';
import { version } from '../base/version.ts';
import { accessCommands } from './access.ts';
import { archiveCommands } from './archive.ts';
import { auditCommands } from './audit.ts';
import { backupCommands } from './backup.ts';
import { databaseCommands } from './database.ts';
import { editorCommands } from './editors.ts';
import { memoriesCommands } from './memories.ts';
import { reviewCommands } from './review.ts';
import { serverCommands } from './server.ts';
import { tenantCommands } from './tenants.ts';

const groups: [string, (program: Command) => void][] = [
  ['Memories:', memoriesCommands],
  ['Server:', serverCommands],
  ['Editors:', editorCommands],
  ['Reviews:', reviewCommands],
  ['Sessions:', archiveCommands],
  ['Access:', accessCommands],
  ['Audit:', auditCommands],
  ['Backups:', backupCommands],
  ['Tenants:', tenantCommands],
  ['Database:', databaseCommands],
];

export function createProgram(): Command {
  const program = new Command('l9-memory')
    .description('Long-term memory for AI agents, in Postgres.')
    .version(version)
    .enablePositionalOptions()
    .showHelpAfterError()
    .addHelpText('after', '\n`l9-memory help <command>` explains a command and shows an example.');
  for (const [heading, define] of groups) define(program.commandsGroup(heading));
  return program;
}
