#!/usr/bin/env node
// `l9-memory <command>`. Each command is a file of its own in commands/, loaded when it is asked for.
import { Command } from 'commander';
import { version } from './version.ts';

const list = (value: string) =>
  value
    .split(',')
    .map((entry) => entry.trim())
    .filter(Boolean);

const program = new Command('l9-memory')
  .description('Long-term memory for AI agents, in Postgres.')
  .version(version)
  .enablePositionalOptions()
  .showHelpAfterError();

program
  .command('start')
  .description('start the server')
  .action(async () => {
    const { serve } = await import('./serve.ts');
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
    const { mcp } = await import('./commands/mcp.ts');
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

program
  .command('eval')
  .description(
    'measure retrieval on judged queries: load a collection, run its queries in every mode, print nDCG, recall, MRR',
  )
  .argument('<collection>', 'cranfield')
  .argument('<folder>', 'where its files are')
  .option('--url <url>', 'the server; the one of this folder if left out')
  .option('--caller <name>', 'who asks', 'C')
  .option('--token <jwt>', 'a token to use instead of one signed for the caller')
  .option('--json <file>', 'write the figures there too')
  .action(async (collection: string, folder: string, options) => {
    const { evaluate } = await import('./commands/eval.ts');
    process.exitCode = await evaluate(process.env, collection, folder, options);
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

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`l9-memory: ${(error as Error).message}\n`);
  process.exitCode = 1;
}
