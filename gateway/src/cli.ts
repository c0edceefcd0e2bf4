#!/usr/bin/env node
// `l9-memory <command>`. Each command is a file of its own in commands/, loaded when it is asked for.
import { Command } from 'commander';
import { version } from './version.ts';

const list = (value: string) =>
  value
    .split(',')
    .map((entry) => entry.trim())
    .filter(Boolean);

const collect = (value: string, before: string[]) => [...before, value];

const program = new Command('l9-memory')
  .description('Long-term memory for AI agents, in Postgres.')
  .version(version)
  .enablePositionalOptions()
  .showHelpAfterError();

program
  .command('start')
  .description('start the server')
  .action(async () => {
    const { serve } = await import('./commands/start.ts');
    process.exitCode = await serve(process.env, { onDemand: false });
  });

program
  .command('token')
  .description('print a token for GraphQL, signed with the secret of this installation')
  .requiredOption('--caller <name>', 'who it is for, such as C or L')
  .option('--scopes <list>', 'only these of the scopes that the caller has', list)
  .option('--projects <list>', 'only these projects', list)
  .option('--tenant <uuid>', 'tenant; the default one if left out')
  .option('--org <uuid>', 'org within the tenant')
  .option('--user <uuid>', 'user within the org')
  .option('--role <role>', "the caller's database role, where the token should name it")
  .option('--expires <time>', 'how long it is good for', '1h')
  .action(async (options) => {
    const { token } = await import('./commands/token.ts');
    await token(process.env, options);
  });

program
  .command('mcp')
  .description('speak MCP over stdio, through the running server of this folder, or one started for the purpose')
  .option('--caller <name>', 'whose key to take from credentials.json; without it MCP_API_KEY gives the key')
  .action(async (options) => {
    const { mcp } = await import('./mcp/stdio.ts');
    process.exitCode = await mcp(process.env, options);
  });

program
  .command('psql')
  .description('open psql on the database of the running server; its arguments are those of psql')
  .allowUnknownOption()
  .passThroughOptions()
  .argument('[arguments...]')
  .action(async (args: string[]) => {
    const { psql } = await import('./commands/psql.ts');
    process.exitCode = await psql(process.env, args);
  });

program
  .command('import')
  .description('save memories from JSON lines (or a JSON array) through the GraphQL API')
  .argument('<files...>', 'files of objects with the fields of save_memory')
  .option('--url <url>', 'the server; the one of this folder if left out')
  .option('--caller <name>', 'who saves them', 'C')
  .option('--token <jwt>', 'a token to use instead of one signed for the caller')
  .option('--scope <scope>', 'scope of objects that name none')
  .option('--project <id>', 'project of objects that name none')
  .option('--kind <kind>', 'kind of objects that name none')
  .option('--wait', 'wait until all of them can be found by meaning')
  .action(async (files: string[], options) => {
    const { importFiles } = await import('./commands/import.ts');
    process.exitCode = await importFiles(process.env, files, options);
  });

const audit = program.command('audit').description('check and export the audit log');
audit
  .command('verify')
  .description('check the audit log against its seals; exit code 1 where something was altered, removed or added')
  .option('--from <time>', 'only seals that cover this time and later')
  .option('--to <time>', 'only seals that cover the time before this')
  .option('--head <hash>', 'a head that was printed before: it must still be in the chain')
  .option('--url <url>', 'the server; the one of this folder if left out')
  .option('--caller <name>', 'an admin', 'L')
  .option('--token <jwt>', 'a token to use instead of one signed for the caller')
  .action(async (options) => {
    const { verify } = await import('./commands/audit.ts');
    process.exitCode = await verify(process.env, options);
  });
audit
  .command('export')
  .description('write the audit log as JSON lines, in order of time')
  .option('--from <time>', 'from this time on')
  .option('--to <time>', 'before this time; now if left out')
  .option('--output <file>', 'a file; standard output if left out')
  .option('--url <url>', 'the server; the one of this folder if left out')
  .option('--caller <name>', 'an admin', 'L')
  .option('--token <jwt>', 'a token to use instead of one signed for the caller')
  .action(async (options) => {
    const { exportLines } = await import('./commands/audit.ts');
    process.exitCode = await exportLines(process.env, options);
  });

program
  .command('migrate-legacy')
  .description(
    'move the old memory.* tables into packet_store; a dry run, unless told to --apply (docs/how-to/migrate-legacy.md)',
  )
  .option('--apply', 'do it, rather than only report what would be done')
  .option('--dry-run', 'only report, which is the default')
  .option('--from <url>', 'database of the old tables, where it is not this one')
  .option('--tenant <uuid>', 'tenant they go to; the default one if left out')
  .option('--project <id>', 'project of memories that name none')
  .option('--scope <old=new>', 'what an old scope becomes; =new for those without one', collect, [])
  .option('--embedding-model <name>', 'the model that the old vectors are of; without it all is embedded anew')
  .option('--importance-scale <number>', 'what stood for the highest importance, where it is not plain')
  .option('--users <own|note>', 'own: a user id makes the memory that user’s; note: it is only noted', 'own')
  .option('--label <name>', 'what to call the source in provenance; the name of its database if left out')
  .option('--drop', 'drop the old schema, if every row in it is accounted for')
  .option('--skip <reasons>', 'with --drop: rows not moved for these reasons may go', list)
  .option('--json', 'report as JSON')
  .action(async (options) => {
    const { migrateLegacy } = await import('./commands/migrate-legacy/index.ts');
    process.exitCode = await migrateLegacy(process.env, options);
  });

program
  .command('reembed')
  .description('change the embedding model: embed all memories anew in the background, switch, drop the old vectors')
  .option('--model <name>', 'the model to change to; without it, tells which model serves and how far a change is')
  .option('--dimensions <number>', 'its dimensions; EMBEDDING_DIMENSIONS if left out')
  .option('--allow-missing <number>', 'switch though so many memories have no vector of the new model', '0')
  .option('--abandon', 'give up the change that is under way')
  .action(async (options) => {
    const { reembed } = await import('./commands/reembed.ts');
    process.exitCode = await reembed(process.env, options);
  });

const db = program.command('db').description('look after the database');
db.command('setup')
  .description('make database, roles and extensions on a server, migrate, and print the URLs to use')
  .requiredOption('--root-url <url>', 'URL of a superuser on the server')
  .option('--database <name>', 'the database', 'l9_memory')
  .action(async (options) => {
    const { setup } = await import('./commands/db-setup.ts');
    process.exitCode = await setup(process.env, options);
  });
db.command('platform-admin')
  .description('make an operator, who administers every tenant: the first there is, since only operators make others')
  .requiredOption('--caller <name>', 'the name of the new operator')
  .action(async (options) => {
    const { platformAdmin } = await import('./commands/platform-admin.ts');
    process.exitCode = await platformAdmin(process.env, options);
  });

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`l9-memory: ${(error as Error).message}\n`);
  process.exitCode = 1;
}
