#!/usr/bin/env node
// `l9-memory <command>`. Each command is a file in commands/, which is loaded when it is run.
import { Command } from 'commander';
import { version } from './base/version.ts';

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
    const { restartWithMallocTrim } = await import('./commands/support/malloc-trim.ts');
    restartWithMallocTrim();
    const { serve } = await import('./commands/start.ts');
    process.exitCode = await serve(process.env, { onDemand: false });
  });

program
  .command('console')
  .description('print a link that signs you in to the console of the running server, once and within ten minutes')
  .action(async () => {
    const { consoleLink } = await import('./commands/console.ts');
    await consoleLink(process.env);
  });

program
  .command('token')
  .description('print a token for GraphQL, signed with the secret of this installation')
  .requiredOption('--caller <name>', 'the caller of the token, such as C or L')
  .option('--scopes <list>', 'limit the token to these scopes of the caller', list)
  .option('--projects <list>', 'limit the token to these projects', list)
  .option('--tenant <uuid>', 'tenant; default: the first tenant')
  .option('--org <uuid>', 'org within the tenant')
  .option('--user <uuid>', 'user within the org')
  .option('--role <role>', "the caller's database role, where the token should name it")
  .option('--expires <time>', 'how long the token is valid', '1h')
  .action(async (options) => {
    const { token } = await import('./commands/token.ts');
    await token(process.env, options);
  });

program
  .command('mcp')
  .description('serve MCP over stdio through the server of this home folder, which is started if none runs')
  .option('--caller <name>', 'use the key of this caller in credentials.json; default: the key in MCP_API_KEY')
  .option('--tools <sets>', 'list these sets of tools: core (the default), knowledge, archive, admin, all')
  .action(async (options) => {
    const { keepCompiledModules } = await import('./home/cache.ts');
    keepCompiledModules();
    const { mcp } = await import('./mcp/stdio.ts');
    process.exitCode = await mcp(process.env, options);
  });

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
  .action(async (args: string[], { caller }: { caller?: string }) => {
    const { psql } = await import('./commands/psql.ts');
    process.exitCode = await psql(process.env, args, caller);
  });

program
  .command('import')
  .description('save memories from files through the GraphQL API')
  .argument(
    '<files...>',
    'JSON lines or a JSON array of the fields of save_memory, a table (CSV), or what mem0, ChatGPT or server-memory export; - for stdin',
  )
  .option('--from <format>', 'memories, mem0, chatgpt, server-memory or csv; default: what the file looks like')
  .option('--encoding <name>', 'utf-8 (the default), latin1 or utf-16')
  .option('--url <url>', 'URL of the server; default: the server of this home folder')
  .option('--caller <name>', 'the caller that saves the memories', 'C')
  .option('--token <jwt>', 'use this token instead of signing one for the caller')
  .option('--scope <scope>', 'scope of objects without one')
  .option('--project <id>', 'project of objects without one')
  .option('--branch <name>', 'branch of objects without one; default: every branch')
  .option('--kind <kind>', 'kind of objects without one')
  .option('--wait', 'wait until all memories have vectors')
  .action(async (files: string[], options) => {
    const { importFiles } = await import('./commands/import.ts');
    process.exitCode = await importFiles(process.env, files, options);
  });

program
  .command('ingest')
  .description('store the Markdown files of folders as documents in sections; again: only what changed')
  .argument('<paths...>', 'folders, or single files')
  .option('--url <url>', 'URL of the server; default: the server of this home folder')
  .option('--caller <name>', 'the caller that stores the documents', 'C')
  .option('--token <jwt>', 'use this token instead of signing one for the caller')
  .option('--scope <scope>', 'scope of the documents; default: developer')
  .option('--project <id>', 'project of the documents; default: that of the working copy')
  .option('--branch <name>', 'branch of the documents; default: that of the working copy, else every branch')
  .option('--tags <list>', 'labels of the documents', list)
  .option('--watch', 'go on and store what changes')
  .option('--prune', 'delete the documents (with these tags) whose file in one of the folders is gone')
  .action(async (paths: string[], options) => {
    const { ingest } = await import('./commands/ingest.ts');
    process.exitCode = await ingest(process.env, paths, options);
  });

program
  .command('scan')
  .description(
    'look for secrets in what is already stored; prints ids and patterns, never texts; exit code 1 if there are any',
  )
  .option('--url <url>', 'URL of the server; default: the server of this home folder')
  .option('--caller <name>', 'an admin', 'L')
  .option('--token <jwt>', 'use this token instead of signing one for the caller')
  .action(async (options) => {
    const { scan } = await import('./commands/scan.ts');
    process.exitCode = await scan(process.env, options);
  });

const audit = program.command('audit').description('check and export the audit log');
audit
  .command('verify')
  .description('check the audit log against its seals; exit code 1 if rows were altered, removed or added')
  .option('--from <time>', 'only seals that cover this time and later')
  .option('--to <time>', 'only seals that cover the time before this')
  .option('--head <hash>', 'a head printed by an earlier run, which must still be in the chain')
  .option('--url <url>', 'URL of the server; default: the server of this home folder')
  .option('--caller <name>', 'an admin', 'L')
  .option('--token <jwt>', 'use this token instead of signing one for the caller')
  .action(async (options) => {
    const { verify } = await import('./commands/audit.ts');
    process.exitCode = await verify(process.env, options);
  });
audit
  .command('export')
  .description('write the audit log as JSON lines, in order of time')
  .option('--from <time>', 'rows of this time and later')
  .option('--to <time>', 'rows before this time; default: now')
  .option('--output <file>', 'output file; default: standard output')
  .option('--url <url>', 'URL of the server; default: the server of this home folder')
  .option('--caller <name>', 'an admin', 'L')
  .option('--token <jwt>', 'use this token instead of signing one for the caller')
  .action(async (options) => {
    const { exportLines } = await import('./commands/audit.ts');
    process.exitCode = await exportLines(process.env, options);
  });

const archive = program.command('archive').description('keep sessions of agents for good');
archive
  .command('add')
  .description('archive sessions of Claude Code, Codex, cm, or plain files of JSON, as one of their own scopes')
  .argument('[files...]', 'the files of sessions')
  .option('--session <id>', 'the session of Claude Code, Codex or cm with this id, instead of files')
  .option('--session-id <id>', 'the id of the session in the file, if not the one that stands in it')
  .option('--from <format>', 'claude-code, codex, cm, json or jsonl; default: what the file looks like')
  .option('--tags <list>', 'labels', list)
  .option('--project <id>', 'the project; default: the Git working copy of this folder')
  .option('--scope <scope>', 'who can see it; default: the narrowest scope of the caller')
  .option('--redact', 'replace what looks like a secret, instead of refusing the session')
  .option('--start', 'start a server if none runs')
  .option('--url <url>', 'URL of the server; default: the server of this home folder')
  .option('--caller <name>', 'the caller', 'C')
  .option('--token <jwt>', 'use this token instead of signing one for the caller')
  .action(async (files: string[], options) => {
    const { add } = await import('./commands/archive/add.ts');
    process.exitCode = await add(process.env, files, options);
  });
archive
  .command('hook')
  .description('archive a session of Claude Code in the background; reads the JSON of its SessionEnd hook')
  .option('--tags <list>', 'labels', list)
  .option('--project <id>', 'the project; default: the Git working copy of the session')
  .option('--scope <scope>', 'who can see it; default: the narrowest scope of the caller')
  .option('--redact', 'replace what looks like a secret, instead of refusing the session')
  .option('--url <url>', 'URL of the server; default: the server of this home folder')
  .option('--caller <name>', 'the caller', 'C')
  .option('--token <jwt>', 'use this token instead of signing one for the caller')
  .action(async (options) => {
    const { hook } = await import('./commands/archive/hook.ts');
    process.exitCode = await hook(process.env, options);
  });
archive
  .command('list')
  .description('list archived sessions, the best match or the newest first')
  .argument('[query]', 'words to look for')
  .option('--tags <list>', 'only with these tags', list)
  .option('--since <time>', 'only sessions that ended (or else began, or else were archived) at this time or later')
  .option('--until <time>', 'only sessions before this time')
  .option('--limit <number>', 'at most so many', '20')
  .option('--json', 'print a line of JSON for each')
  .option('--url <url>', 'URL of the server; default: the server of this home folder')
  .option('--caller <name>', 'the caller', 'C')
  .option('--token <jwt>', 'use this token instead of signing one for the caller')
  .action(async (query: string | undefined, options) => {
    const read = await import('./commands/archive/read.ts');
    process.exitCode = await read.list(process.env, query, options);
  });
archive
  .command('get')
  .description('print an archived session as JSON, after its bytes were checked')
  .argument('<pointer>', 'cascade:// and 64 hexadecimal digits')
  .option('--url <url>', 'URL of the server; default: the server of this home folder')
  .option('--caller <name>', 'the caller', 'C')
  .option('--token <jwt>', 'use this token instead of signing one for the caller')
  .action(async (pointer: string, options) => {
    const { get } = await import('./commands/archive/read.ts');
    process.exitCode = await get(process.env, pointer, options);
  });
archive
  .command('verify')
  .description(
    'check hash and tag of archives in every store, and write missing and bad copies again; exit code 1 if a problem stays',
  )
  .argument('[pointer]', 'only this archive')
  .option('--all', 'all archives that the caller can read')
  .option('--url <url>', 'URL of the server; default: the server of this home folder')
  .option('--caller <name>', 'the caller', 'C')
  .option('--token <jwt>', 'use this token instead of signing one for the caller')
  .action(async (pointer: string | undefined, options) => {
    const { verify } = await import('./commands/archive/read.ts');
    process.exitCode = await verify(process.env, pointer, options);
  });
archive
  .command('rotate')
  .description(
    'wrap the keys of all archives of the tenant (as an operator: of all tenants) with the first master key; stored bytes stay as they are',
  )
  .option('--url <url>', 'URL of the server; default: the server of this home folder')
  .option('--caller <name>', 'an admin or an operator', 'L')
  .option('--token <jwt>', 'use this token instead of signing one for the caller')
  .action(async (options) => {
    const { rotate } = await import('./commands/archive/read.ts');
    process.exitCode = await rotate(process.env, options);
  });
archive
  .command('cost')
  .description('estimate what it costs to store so many bytes, from the prices that the tenant set')
  .argument('<size>', 'a number of bytes, a file, or the pointer of an archive')
  .option('--redundancy <number>', 'how many copies are kept; default: 1, or as the archive is stored')
  .option(
    '--connector <name>',
    'the kind of store: postgres, file, s3, http; default: postgres, or as the archive is stored',
  )
  .option('--url <url>', 'URL of the server; default: the server of this home folder')
  .option('--caller <name>', 'the caller', 'C')
  .option('--token <jwt>', 'use this token instead of signing one for the caller')
  .action(async (size: string, options) => {
    const { cost } = await import('./commands/archive/cost.ts');
    process.exitCode = await cost(process.env, size, options);
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
  .option('--importance-scale <number>', 'the highest value of importance in the old tables, if it cannot be inferred')
  .option(
    '--users <own|note>',
    'own: the user id becomes the owner of the memory; note: it is kept in provenance only',
    'own',
  )
  .option('--label <name>', 'name of the source in provenance; default: the name of its database')
  .option('--drop', 'drop the old schema if every row in it is accounted for')
  .option('--skip <reasons>', 'with --drop: also drop rows that were not moved for these reasons', list)
  .option('--json', 'print the report as JSON')
  .action(async (options) => {
    const { migrateLegacy } = await import('../../tools/migrate-legacy/index.ts');
    process.exitCode = await migrateLegacy(process.env, options);
  });

program
  .command('reembed')
  .description('change the embedding model: embed all memories again, switch, and delete the old vectors')
  .option('--model <name>', 'the new model; without it, print the serving model and the progress of a change')
  .option('--dimensions <number>', 'dimensions of the new model; default: EMBEDDING_DIMENSIONS')
  .option('--allow-missing <number>', 'switch even if this many memories have no vector of the new model', '0')
  .option('--abandon', 'cancel the change in progress')
  .action(async (options) => {
    const { reembed } = await import('./commands/reembed.ts');
    process.exitCode = await reembed(process.env, options);
  });

const db = program.command('db').description('set up the database');
db.command('setup')
  .description('create database, roles and extensions on a server, migrate, and print the URLs to use')
  .option(
    '--root-url <url>',
    'URL of a superuser on the server; ROOT_DATABASE_URL or a file keeps its password out of `ps`',
  )
  .option('--database <name>', 'the database', 'l9_memory')
  .option('--adopt', 'also set up a database that has tables of another application')
  .action(async (options) => {
    const { setup } = await import('./commands/db-setup.ts');
    process.exitCode = await setup(process.env, options);
  });
db.command('platform-admin')
  .description('create the first operator, who administers every tenant; operators can create further ones')
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
