// Commands that keep sessions of agents for good.
import type { Command } from 'commander';
import { asking, example, list, run } from './options.ts';

export function archiveCommands(program: Command): void {
  const archive = program.command('archive').description('keep sessions of agents for good');
  asking(
    archive
      .command('add')
      .description(
        'archive sessions of Claude Code, Codex, Gemini CLI, cm, or plain files of JSON, as one of their own scopes',
      )
      .argument('[files...]', 'the files of sessions')
      .option('--session <id>', 'the session of Claude Code, Codex or cm with this id, instead of files')
      .option('--session-id <id>', 'the id of the session in the file, if not the one that stands in it')
      .option('--from <format>', 'claude-code, codex, gemini-cli, cm, json or jsonl; default: what the file looks like')
      .option('--tags <list>', 'labels', list)
      .option('--project <id>', 'the project; default: the Git working copy of this folder')
      .option('--scope <scope>', 'who can see it; default: the narrowest scope of the caller')
      .option('--redact', 'replace what looks like a secret, instead of refusing the session')
      .option('--messages', 'also save what was said as memories of kind message, with speaker and time')
      .option('--start', 'start a server if none runs'),
  )
    .addHelpText('after', example('l9-memory archive add session.jsonl --tags release'))
    .action(run(async () => (await import('../commands/archive/add.ts')).add));
  asking(
    archive
      .command('list')
      .description('list archived sessions, the best match or the newest first')
      .argument('[query]', 'words to look for')
      .option('--tags <list>', 'only with these tags', list)
      .option('--since <time>', 'only sessions that ended (or else began, or else were archived) at this time or later')
      .option('--until <time>', 'only sessions before this time')
      .option('--limit <number>', 'at most so many', '20')
      .option('--json', 'print a line of JSON for each'),
  )
    .addHelpText('after', example('l9-memory archive list "release of May" --since 2026-05-01'))
    .action(run(async () => (await import('../commands/archive/read.ts')).list));
  asking(
    archive
      .command('get')
      .description('print an archived session as JSON, after its bytes were checked')
      .argument('<pointer>', 'cascade:// and 64 hexadecimal digits'),
  )
    .addHelpText('after', example('l9-memory archive get cascade://…'))
    .action(run(async () => (await import('../commands/archive/read.ts')).get));
  asking(
    archive
      .command('verify')
      .description(
        'check hash and tag of archives in every store, and write missing and bad copies again; exit code 1 if a problem stays',
      )
      .argument('[pointer]', 'only this archive')
      .option('--all', 'all archives that the caller can read'),
  )
    .addHelpText('after', example('l9-memory archive verify --all'))
    .action(run(async () => (await import('../commands/archive/read.ts')).verify));
  asking(
    archive
      .command('rotate')
      .description(
        'wrap the keys of all archives of the tenant (as an operator: of all tenants) with the first master key; stored bytes stay as they are',
      ),
    'an admin or an operator',
  )
    .addHelpText('after', example('l9-memory archive rotate'))
    .action(run(async () => (await import('../commands/archive/read.ts')).rotate));
  asking(
    archive
      .command('cost')
      .description('estimate what it costs to store so many bytes, from the prices that the tenant set')
      .argument('<size>', 'a number of bytes, a file, or the pointer of an archive')
      .option('--redundancy <number>', 'how many copies are kept; default: 1, or as the archive is stored')
      .option(
        '--connector <name>',
        'the kind of store: postgres, file, s3, http; default: postgres, or as the archive is stored',
      ),
  )
    .addHelpText('after', example('l9-memory archive cost session.jsonl --redundancy 2'))
    .action(run(async () => (await import('../commands/archive/cost.ts')).cost));
}
