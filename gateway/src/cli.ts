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

/** The options of a command that asks a server through its GraphQL API. */
const asking = (command: Command, who = 'the caller', caller = 'C') =>
  command
    .option('--url <url>', 'URL of the server; default: the server of this home folder')
    .option('--caller <name>', who, caller)
    .option('--token <jwt>', 'use this token instead of signing one for the caller');

/** Loads what runs a command, which returns the exit code. */
const run =
  <Given extends unknown[]>(load: () => Promise<(env: NodeJS.ProcessEnv, ...given: Given) => Promise<number>>) =>
  async (...given: Given) => {
    process.exitCode = await (await load())(process.env, ...given);
  };

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
  .option('--tools <sets>', 'list these sets of tools: core (the default), knowledge, archive, review, admin, all')
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

asking(
  program
    .command('import')
    .description('save memories from files through the GraphQL API')
    .argument(
      '<files...>',
      'JSON lines or a JSON array of the fields of save_memory, a table (CSV), a session of an agent, or what mem0, ChatGPT or server-memory export; - for stdin',
    )
    .option(
      '--from <format>',
      'memories, mem0, chatgpt, session, server-memory or csv; default: what the file looks like',
    )
    .option('--encoding <name>', 'utf-8 (the default), latin1 or utf-16'),
  'the caller that saves the memories',
)
  .option('--scope <scope>', 'scope of objects without one')
  .option('--project <id>', 'project of objects without one')
  .option('--branch <name>', 'branch of objects without one; default: every branch')
  .option('--kind <kind>', 'kind of objects without one')
  .option('--wait', 'wait until all memories have vectors')
  .action(run(async () => (await import('./commands/import.ts')).importFiles));

asking(
  program
    .command('ingest')
    .description('store the Markdown files of folders as documents in sections; again: only what changed')
    .argument('<paths...>', 'folders, or single files'),
  'the caller that stores the documents',
)
  .option('--scope <scope>', 'scope of the documents; default: developer')
  .option('--project <id>', 'project of the documents; default: that of the working copy')
  .option('--branch <name>', 'branch of the documents; default: that of the working copy, else every branch')
  .option('--tags <list>', 'labels of the documents', list)
  .option('--watch', 'go on and store what changes')
  .option('--prune', 'delete the documents (with these tags) whose file in one of the folders is gone')
  .action(run(async () => (await import('./commands/ingest.ts')).ingest));

asking(
  program
    .command('scan')
    .description(
      'look for secrets in what is already stored; prints ids and patterns, never texts; exit code 1 if there are any',
    ),
  'an admin',
  'L',
).action(run(async () => (await import('./commands/scan.ts')).scan));

const audit = program.command('audit').description('check and export the audit log');
asking(
  audit
    .command('verify')
    .description('check the audit log against its seals; exit code 1 if rows were altered, removed or added')
    .option('--from <time>', 'only seals that cover this time and later')
    .option('--to <time>', 'only seals that cover the time before this')
    .option('--head <hash>', 'a head printed by an earlier run, which must still be in the chain'),
  'an admin',
  'L',
).action(run(async () => (await import('./commands/audit.ts')).verify));
asking(
  audit
    .command('export')
    .description('write the audit log as JSON lines, in order of time')
    .option('--from <time>', 'rows of this time and later')
    .option('--to <time>', 'rows before this time; default: now')
    .option('--output <file>', 'output file; default: standard output'),
  'an admin',
  'L',
).action(run(async () => (await import('./commands/audit.ts')).exportLines));

const review = program
  .command('review')
  .description('decide about memories that wait for a review; without a subcommand: list them');
const forReviewers = (command: Command) =>
  command
    .option('--json', 'print a line of JSON for each')
    .option('--url <url>', 'URL of the server; default: the server of this home folder')
    .option('--caller <name>', 'an admin', 'L')
    .option('--token <jwt>', 'use this token instead of signing one for the caller');
forReviewers(review.command('list', { isDefault: true }))
  .description('list what waits, oldest first, with near-duplicates, contradictions and earlier rejections')
  .option('--scope <scope>', 'only this scope')
  .option('--project <id>', 'only this project')
  .option('--creator <name>', 'only what this creator wrote, such as Cursor-IDE')
  .option('--kinds <list>', 'only these kinds', list)
  .option('--limit <number>', 'at most so many', '20')
  .addHelpText('after', '\nExample: l9-memory review list --project l9 --creator Cursor-IDE')
  .action(async (options) => {
    const commands = await import('./commands/review.ts');
    process.exitCode = await commands.list(process.env, options);
  });
forReviewers(review.command('approve'))
  .description('make memories count; one of them can be corrected in the same step')
  .argument('<ids...>', 'ids of memories')
  .option('--text <text>', 'with one id: its text, corrected')
  .option('--title <title>', 'with one id: its title')
  .option('--tags <list>', 'with one id: its labels', list)
  .option('--reason <text>', 'a note for its writer')
  .addHelpText('after', '\nExample: l9-memory review approve 0198c1f2-… --text "The port is 5432."')
  .action(async (ids: string[], options) => {
    const commands = await import('./commands/review.ts');
    process.exitCode = await commands.approve(process.env, ids, options);
  });
forReviewers(review.command('reject'))
  .description('keep memories from counting; their writers read the reason')
  .argument('<ids...>', 'ids of memories')
  .requiredOption('--reason <text>', 'why')
  .addHelpText('after', '\nExample: l9-memory review reject 0198c1f2-… --reason "We moved to Dublin in March."')
  .action(async (ids: string[], options) => {
    const commands = await import('./commands/review.ts');
    process.exitCode = await commands.reject(process.env, ids, options);
  });
forReviewers(review.command('merge'))
  .description('make one memory of several that say the same')
  .argument('<keep>', 'id of the memory that stays')
  .argument('<others...>', 'ids of the memories that go into it')
  .option('--text <text>', 'a text that says it all, for the memory that stays')
  .addHelpText('after', '\nExample: l9-memory review merge 0198c1f2-… 0198c1f3-… 0198c1f4-…')
  .action(async (keep: string, others: string[], options) => {
    const commands = await import('./commands/review.ts');
    process.exitCode = await commands.merge(process.env, keep, others, options);
  });
forReviewers(review.command('undo'))
  .description('take decisions back: what was approved or rejected waits again, what was merged is what it was')
  .argument('<ids...>', 'ids of memories')
  .addHelpText('after', '\nExample: l9-memory review undo 0198c1f2-…')
  .action(async (ids: string[], options) => {
    const commands = await import('./commands/review.ts');
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
  .addHelpText('after', '\nExample: l9-memory review rules --needs-review --of C --scope global')
  .action(async (options) => {
    const commands = await import('./commands/review.ts');
    process.exitCode = await commands.rules(process.env, options);
  });

const archive = program.command('archive').description('keep sessions of agents for good');
asking(
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
    .option('--messages', 'also save what was said as memories of kind message, with speaker and time')
    .option('--start', 'start a server if none runs'),
).action(run(async () => (await import('./commands/archive/add.ts')).add));
asking(
  archive
    .command('hook')
    .description('archive a session of Claude Code in the background; reads the JSON of its SessionEnd hook')
    .option('--tags <list>', 'labels', list)
    .option('--project <id>', 'the project; default: the Git working copy of the session')
    .option('--scope <scope>', 'who can see it; default: the narrowest scope of the caller')
    .option('--redact', 'replace what looks like a secret, instead of refusing the session')
    .option('--messages', 'also save what was said as memories of kind message, with speaker and time'),
).action(run(async () => (await import('./commands/archive/hook.ts')).hook));
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
).action(run(async () => (await import('./commands/archive/read.ts')).list));
asking(
  archive
    .command('get')
    .description('print an archived session as JSON, after its bytes were checked')
    .argument('<pointer>', 'cascade:// and 64 hexadecimal digits'),
).action(run(async () => (await import('./commands/archive/read.ts')).get));
asking(
  archive
    .command('verify')
    .description(
      'check hash and tag of archives in every store, and write missing and bad copies again; exit code 1 if a problem stays',
    )
    .argument('[pointer]', 'only this archive')
    .option('--all', 'all archives that the caller can read'),
).action(run(async () => (await import('./commands/archive/read.ts')).verify));
asking(
  archive
    .command('rotate')
    .description(
      'wrap the keys of all archives of the tenant (as an operator: of all tenants) with the first master key; stored bytes stay as they are',
    ),
  'an admin or an operator',
  'L',
).action(run(async () => (await import('./commands/archive/read.ts')).rotate));
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
).action(run(async () => (await import('./commands/archive/cost.ts')).cost));

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
  .action(run(async () => (await import('../../tools/migrate-legacy/index.ts')).migrateLegacy));

program
  .command('reembed')
  .description('change the embedding model: embed all memories again, switch, and delete the old vectors')
  .option('--model <name>', 'the new model; without it, print the serving model and the progress of a change')
  .option('--dimensions <number>', 'dimensions of the new model; default: EMBEDDING_DIMENSIONS')
  .option('--allow-missing <number>', 'switch even if this many memories have no vector of the new model', '0')
  .option('--abandon', 'cancel the change in progress')
  .action(run(async () => (await import('./commands/reembed.ts')).reembed));

const db = program.command('db').description('set up the database');
db.command('setup')
  .description('create database, roles and extensions on a server, migrate, and print the URLs to use')
  .option(
    '--root-url <url>',
    'URL of a superuser on the server; ROOT_DATABASE_URL or a file keeps its password out of `ps`',
  )
  .option('--database <name>', 'the database', 'l9_memory')
  .option('--adopt', 'also set up a database that has tables of another application')
  .action(run(async () => (await import('./commands/db-setup.ts')).setup));
db.command('platform-admin')
  .description('create the first operator, who administers every tenant; operators can create further ones')
  .requiredOption('--caller <name>', 'the name of the new operator')
  .action(run(async () => (await import('./commands/platform-admin.ts')).platformAdmin));

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`l9-memory: ${(error as Error).message}\n`);
  process.exitCode = 1;
}
