// Commands that set editors up, and what these run then.
import type { Command } from 'commander';
import { example, run } from './options.ts';

const NAMES =
  'claude-code, cursor, codex, vscode, gemini-cli, claude-desktop, windsurf, opencode, or all that are found here';
const HOOK_OPTIONS =
  '--home, --within (time limit in milliseconds), --tokens (budget of the recalled block), --project; hooks that archive also take --tags, --scope, --redact, --messages';

export function editorCommands(program: Command): void {
  const ofEditors = (command: Command) =>
    command
      .argument('<editors...>', NAMES)
      .option('--project', 'in the settings of the project in this folder, instead of those of the user')
      .option('--dry-run', 'only show what would change')
      .option('--no-key', 'leave the actor and the key of the editor as they are');
  ofEditors(
    program
      .command('install')
      .description('set up editors: the MCP server, hooks and the skill (docs/how-to/set-up-an-editor.md)'),
  )
    .option('--print', 'print the entries, to write them by hand')
    .addHelpText('after', example('l9-memory install claude-code'))
    .action(run(async () => (await import('../commands/editors/install.ts')).install));
  ofEditors(
    program.command('uninstall').description('take out of editors what `install` put there, and revoke their keys'),
  )
    .addHelpText('after', example('l9-memory uninstall claude-code'))
    .action(run(async () => (await import('../commands/editors/install.ts')).uninstall));
  program
    .command('hook')
    .description('what an editor runs by itself; reads its JSON from standard input, and always ends with 0')
    .argument('<editor>', 'such as claude-code')
    .argument('<event>', 'as the editor names it, such as SessionStart')
    .argument('[options...]', HOOK_OPTIONS)
    .allowUnknownOption()
    .passThroughOptions()
    .addHelpText('after', example('l9-memory hook claude-code SessionEnd --messages < event.json'))
    .action(async (editor: string, event: string, options: string[]) => {
      const { hook } = await import('../commands/hook/run.ts');
      await hook(process.env, [editor, event, ...options]);
    });
}
