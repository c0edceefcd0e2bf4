// Commands of reviewers.
import type { Command } from 'commander';
import { PERSON } from '../auth/identity.ts';
import { example, list } from './options.ts';

export function reviewCommands(program: Command): void {
  const review = program
    .command('review')
    .description('decide about memories that wait for a review; without a subcommand: list them');
  const forReviewers = (command: Command) =>
    command
      .option('--json', 'print a line of JSON for each')
      .option('--url <url>', 'URL of the server; default: the server of this home folder')
      .option('--caller <name>', 'an admin', PERSON)
      .option('--token <jwt>', 'use this token instead of signing one for the caller');
  forReviewers(review.command('list'))
    .description('list what waits, oldest first, with near-duplicates, contradictions and earlier rejections')
    .option('--scope <scope>', 'only this scope')
    .option('--project <id>', 'only this project')
    .option('--creator <name>', 'only what this creator wrote, such as Cursor-IDE')
    .option('--kinds <list>', 'only these kinds', list)
    .option('--limit <number>', 'at most so many', '20')
    .addHelpText('after', example('l9-memory review list --project l9 --creator Cursor-IDE'))
    .action(async (options) => {
      const commands = await import('../commands/review.ts');
      process.exitCode = await commands.list(process.env, options);
    });
  forReviewers(review.command('approve'))
    .description('make memories count; one of them can be corrected in the same step')
    .argument('<ids...>', 'ids of memories')
    .option('--text <text>', 'with one id: its text, corrected')
    .option('--title <title>', 'with one id: its title')
    .option('--tags <list>', 'with one id: its labels', list)
    .option('--reason <text>', 'a note for its writer')
    .addHelpText('after', example('l9-memory review approve 0198c1f2-… --text "The port is 5432."'))
    .action(async (ids: string[], options) => {
      const commands = await import('../commands/review.ts');
      process.exitCode = await commands.approve(process.env, ids, options);
    });
  forReviewers(review.command('reject'))
    .description('keep memories from counting; their writers read the reason')
    .argument('<ids...>', 'ids of memories')
    .requiredOption('--reason <text>', 'why')
    .addHelpText('after', example('l9-memory review reject 0198c1f2-… --reason "We moved to Dublin in March."'))
    .action(async (ids: string[], options) => {
      const commands = await import('../commands/review.ts');
      process.exitCode = await commands.reject(process.env, ids, options);
    });
  forReviewers(review.command('merge'))
    .description('make one memory of several that say the same')
    .argument('<keep>', 'id of the memory that stays')
    .argument('<others...>', 'ids of the memories that go into it')
    .option('--text <text>', 'a text that says it all, for the memory that stays')
    .addHelpText('after', example('l9-memory review merge 0198c1f2-… 0198c1f3-… 0198c1f4-…'))
    .action(async (keep: string, others: string[], options) => {
      const commands = await import('../commands/review.ts');
      process.exitCode = await commands.merge(process.env, keep, others, options);
    });
  forReviewers(review.command('undo'))
    .description('take decisions back: what was approved or rejected waits again, what was merged is what it was')
    .argument('<ids...>', 'ids of memories')
    .addHelpText('after', example('l9-memory review undo 0198c1f2-…'))
    .action(async (ids: string[], options) => {
      const commands = await import('../commands/review.ts');
      process.exitCode = await commands.undo(process.env, ids, options);
    });
  forReviewers(review.command('rules'))
    .description('list the rules that say which saves wait; set or delete one first, if options say so')
    .option('--needs-review', 'saves that meet these conditions wait for a review')
    .option('--counts', 'saves that meet these conditions count at once')
    .option('--of <name>', 'the caller that saves, such as C')
    .option('--scope <scope>', 'the scope of the memory')
    .option('--project <id>', 'the project of the memory')
    .option('--kinds <list>', 'the kinds of the memory', list)
    .option('--source <name>', 'the source of the caller, such as cursor-ide')
    .option('--delete <id>', 'delete this rule')
    .addHelpText('after', example('l9-memory review rules --needs-review --of C --scope global'))
    .action(async (options) => {
      const commands = await import('../commands/review.ts');
      process.exitCode = await commands.rules(process.env, options);
    });
}
