// Commands that save, find and change memories.
import type { Command } from 'commander';
import { asking, collect, example, list, run } from './options.ts';

export function memoriesCommands(program: Command): void {
  const at = (command: Command) =>
    asking(command)
      .option('--project <id>', 'the project; default: that of the working copy, else the name of this folder')
      .option('--scope <scope>', 'the scope')
      .option('--json', 'print lines of JSON');

  at(
    program
      .command('save')
      .description('remember a text; - reads it from standard input')
      .argument('[text...]', 'the text; a kind that makes it from its fields goes without'),
  )
    .option('--kind <kind>', 'its kind: note (the default), decision, todo, …')
    .option('--tags <list>', 'labels', list)
    .option('--field <name=value>', 'a field of its kind; may be given several times', collect)
    .option('--thread <id>', 'the conversation that it belongs to')
    .option('--speaker <name>', 'who said it')
    .addHelpText('after', example('l9-memory save "We deploy on Fridays before noon." --tags deploy'))
    .action(run(async () => (await import('../commands/memories/change.ts')).save));
  at(
    program
      .command('search')
      .description('find memories that answer a question, the best first')
      .argument('<question...>', 'words or a question'),
  )
    .option('--all-projects', 'in every project')
    .option('--kinds <list>', 'only these kinds', list)
    .option('--tags <list>', 'only with one of these tags', list)
    .option('--since <time>', 'only what happened at this time or later')
    .option('--until <time>', 'only what happened before this time')
    .option('--mode <mode>', 'hybrid (the default), lexical, semantic or graph')
    .option('--limit <number>', 'at most so many, 1 to 100', '10')
    .addHelpText('after', example('l9-memory search when do we deploy'))
    .action(run(async () => (await import('../commands/memories/read.ts')).search));
  at(program.command('list').description('list memories, the newest first'))
    .option('--all-projects', 'of every project')
    .option('--kind <kind>', 'only this kind')
    .option('--limit <number>', 'at most so many', '20')
    .addHelpText('after', example('l9-memory list --kind decision --limit 50'))
    .action(run(async () => (await import('../commands/memories/read.ts')).list));
  asking(program.command('show').description('print a memory whole').argument('<id>', 'its id'))
    .option('--json', 'print a line of JSON')
    .addHelpText('after', example('l9-memory show 0198c1f2-…'))
    .action(run(async () => (await import('../commands/memories/read.ts')).show));
  asking(
    program
      .command('edit')
      .description('change a memory; without an option its text is opened in the editor of VISUAL or EDITOR')
      .argument('<id>', 'its id'),
  )
    .option('--text <text>', 'its text')
    .option('--kind <kind>', 'its kind')
    .option('--tags <list>', 'its labels', list)
    .option('--field <name=value>', 'a field of its kind; may be given several times', collect)
    .option('--json', 'print a line of JSON')
    .addHelpText('after', example('l9-memory edit 0198c1f2-… --text "We deploy on Thursdays."'))
    .action(run(async () => (await import('../commands/memories/change.ts')).edit));
  asking(
    program
      .command('delete')
      .description('delete memories and what was derived from them; asks first at a terminal')
      .argument('<ids...>', 'their ids'),
  )
    .option('--yes', 'do not ask')
    .option('--json', 'print lines of JSON')
    .addHelpText('after', example('l9-memory delete 0198c1f2-… --yes'))
    .action(run(async () => (await import('../commands/memories/change.ts')).remove));
  asking(
    program
      .command('facts')
      .description('print what is known of a subject, or all facts, the most certain first')
      .argument('[subject]', 'the subject'),
  )
    .option('--project <id>', 'only of this project')
    .option('--scope <scope>', 'only of this scope')
    .option('--predicate <name>', 'only this predicate')
    .option('--history', 'also superseded and retracted facts')
    .option('--limit <number>', 'at most so many, 1 to 100', '20')
    .option('--json', 'print lines of JSON')
    .addHelpText('after', example('l9-memory facts billing-api --history'))
    .action(run(async () => (await import('../commands/memories/read.ts')).facts));

  asking(
    program
      .command('import')
      .description('save memories from files through the GraphQL API')
      .argument(
        '<files...>',
        'JSON lines or a JSON array of the fields of save_memory, a table (CSV), a page of Markdown, a session of an agent, or what ChatGPT, Claude, mem0, Hindsight or server-memory export; - for stdin',
      )
      .option(
        '--from <format>',
        'memories, mem0, chatgpt, claude, hindsight, session, server-memory, csv or markdown; default: what the file looks like',
      )
      .option('--encoding <name>', 'utf-8 (the default), latin1 or utf-16'),
    'the caller that saves the memories',
  )
    .option('--scope <scope>', 'scope of objects without one')
    .option(
      '--project <id>',
      'project of objects without one; default: that of the working copy, else the name of this folder',
    )
    .option('--branch <name>', 'branch of objects without one; default: every branch')
    .option('--kind <kind>', 'kind of objects without one')
    .option('--any-tenant', 'take what another tenant exported as your own')
    .option('--wait', 'wait until all memories have vectors')
    .addHelpText('after', example('l9-memory import conversations.json --project talks'))
    .action(run(async () => (await import('../commands/import.ts')).importFiles));

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
    .addHelpText('after', example('l9-memory ingest docs --watch'))
    .action(run(async () => (await import('../commands/ingest.ts')).ingest));

  asking(
    program
      .command('export')
      .description('write what a caller may read as JSON lines, for `l9-memory import`; as an admin the whole tenant')
      .argument('<file>', 'the file; compressed if its name ends in .gz; - for standard output'),
  )
    .option('--with-vectors', 'also the vectors, which are made again otherwise')
    .option('--with-audit', 'also the sealed audit log of the tenant, for administrators')
    .option(
      '--with-keys',
      'also the keys of archived sessions, so that everybody who has the file can read the sessions',
    )
    .addHelpText('after', example('l9-memory export memories.jsonl.gz'))
    .action(run(async () => (await import('../commands/export.ts')).exportFile));
}
