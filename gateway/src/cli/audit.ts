// Commands for auditors: they export and verify the audit log, and find secrets in stored memories.
import type { Command } from 'commander';
import { asking, example, run } from './options.ts';

export function auditCommands(program: Command): void {
  asking(
    program
      .command('scan')
      .description(
        'look for secrets in what is already stored; prints ids and patterns, never texts; exit code 1 if there are any',
      ),
    'an admin',
  )
    .addHelpText('after', example('l9-memory scan'))
    .action(run(async () => (await import('../commands/scan.ts')).scan));

  const audit = program.command('audit').description('check and export the audit log');
  asking(
    audit
      .command('verify')
      .description('check the audit log against its seals; exit code 1 if rows were altered, removed or added')
      .option('--from <time>', 'only seals that cover this time and later')
      .option('--to <time>', 'only seals that cover the time before this')
      .option('--head <hash>', 'a head printed by an earlier run, which must still be in the chain'),
    'an admin',
  )
    .addHelpText('after', example('l9-memory audit verify --from 2026-11-01'))
    .action(run(async () => (await import('../commands/audit.ts')).verify));
  asking(
    audit
      .command('export')
      .description('write the audit log as JSON lines, in order of time')
      .option('--from <time>', 'rows of this time and later')
      .option('--to <time>', 'rows before this time; default: now')
      .option('--output <file>', 'output file; default: standard output'),
    'an admin',
  )
    .addHelpText('after', example('l9-memory audit export --from 2026-11-01 --output november.jsonl'))
    .action(run(async () => (await import('../commands/audit.ts')).exportLines));
}
