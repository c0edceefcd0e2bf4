// Commands for the database itself.
import type { Command } from 'commander';
import { collect, example, list, run } from './options.ts';

export function databaseCommands(program: Command): void {
  program
    .command('psql')
    .description('open psql on the database of the running server; arguments are passed to psql')
    .option(
      '--caller <name>',
      'on a PostgreSQL server: log in as the login bound to this caller, which can be nobody else',
    )
    .allowUnknownOption()
    .passThroughOptions()
    .argument('[arguments...]')
    .addHelpText('after', example('l9-memory psql --caller C'))
    .action(async (args: string[], { caller }: { caller?: string }) => {
      const { psql } = await import('../commands/psql.ts');
      process.exitCode = await psql(process.env, args, caller);
    });

  program
    .command('migrate-legacy')
    .description(
      'move the old memory.* tables into packet_store; a dry run without --apply (docs/how-to/migrate-legacy.md)',
    )
    .option('--apply', 'move the rows instead of only reporting what would be moved')
    .option('--dry-run', 'only report, which is the default')
    .option('--from <url>', 'URL of the database with the old tables; default: this database')
    .option('--tenant <uuid>', 'tenant that gets the memories; default: the first tenant')
    .option('--project <id>', 'project of memories without one')
    .option('--scope <old=new>', 'new name of an old scope; =new for rows without a scope', collect, [])
    .option('--embedding-model <name>', 'the model of the old vectors; without it all memories are embedded again')
    .option(
      '--importance-scale <number>',
      'the highest value of importance in the old tables, if it cannot be inferred',
    )
    .option(
      '--users <own|note>',
      'own: the user id becomes the owner of the memory; note: it is kept in provenance only',
      'own',
    )
    .option('--label <name>', 'name of the source in provenance; default: the name of its database')
    .option('--drop', 'drop the old schema if every row in it is accounted for')
    .option('--skip <reasons>', 'with --drop: also drop rows that were not moved for these reasons', list)
    .option('--json', 'print the report as JSON')
    .addHelpText('after', example('l9-memory migrate-legacy --project l9 --scope shared=developer'))
    .action(run(async () => (await import('../../../tools/migrate-legacy/index.ts')).migrateLegacy));

  program
    .command('reembed')
    .description('change the embedding model: embed all memories again, switch, and delete the old vectors')
    .option('--model <name>', 'the new model; without it, print the serving model and the progress of a change')
    .option('--dimensions <number>', 'dimensions of the new model; default: EMBEDDING_DIMENSIONS')
    .option('--allow-missing <number>', 'switch even if this many memories have no vector of the new model', '0')
    .option('--abandon', 'cancel the change in progress')
    .addHelpText('after', example('l9-memory reembed --model text-embedding-3-small'))
    .action(run(async () => (await import('../commands/reembed.ts')).reembed));

  const db = program.command('db').description('set up the database');
  db.command('setup')
    .description('create database, roles and extensions on a server, migrate, and print the URLs to use')
    .option(
      '--root-url <url>',
      'URL of a superuser on the server; ROOT_DATABASE_URL or a file keeps its password out of `ps`',
    )
    .option('--database <name>', 'the database', 'l9_memory')
    .option('--adopt', 'also set up a database that has tables of another application')
    .addHelpText('after', example('ROOT_DATABASE_URL=postgres://postgres@db.example/postgres l9-memory db setup'))
    .action(run(async () => (await import('../commands/db-setup.ts')).setup));
  db.command('platform-admin')
    .description('create the first operator, who administers every tenant; operators can create further ones')
    .requiredOption('--caller <name>', 'the name of the new operator')
    .addHelpText('after', example('l9-memory db platform-admin --caller ops'))
    .action(run(async () => (await import('../commands/platform-admin.ts')).platformAdmin));
}
