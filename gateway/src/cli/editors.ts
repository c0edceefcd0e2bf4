// Commands that set editors up, and what these run then.
import type { Command } from 'commander';
import { example, run } from './options.ts';

const NAMES =
  'claude-code, cursor, codex, vscode, gemini-cli, claude-desktop, windsurf, opencode, or all that are found here';

export function editorCommands(program: Command): void {
  const ofEditors = (command: Command) =>
    command
      .argument('<editors...>', NAMES)
      .option('--project', 'in the settings of the project in this folder, instead of those of the user')
      .option('--dry-run', 'only show what would change')
      .option('--no-key', 'leave the actor and the key of the editor as they are');
  example(
    ofEditors(
      program
        .command('install')
        .description('set up editors: the MCP server, hooks and the skill (docs/how-to/set-up-an-editor.md)'),
    ).option('--print', 'print the entries, to write them by hand'),
    'l9-memory install claude-code',
  ).action(run(async () => (await import('../commands/editors/install.ts')).install));
  example(
    ofEditors(
      program.command('uninstall').description('take out of editors what `install` put there, and revoke their keys'),
    ),
    'l9-memory uninstall claude-code',
  ).action(run(async () => (await import('../commands/editors/install.ts')).uninstall));
}
