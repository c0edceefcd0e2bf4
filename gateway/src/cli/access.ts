// Commands about who may call, and what is on the record.
import type { Command } from 'commander';
import { asking, example, list, run } from './options.ts';

export function accessCommands(program: Command): void {
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
      const { token } = await import('../commands/token.ts');
      await token(process.env, options);
    });

  const keys = program.command('keys').description('list, make and revoke the keys of editors and applications');
  const forAdmins = (command: Command) => asking(command, 'an admin', 'L').option('--json', 'print lines of JSON');
  example(
    forAdmins(keys.command('list', { isDefault: true }).description('list the keys, never their secrets')).option(
      '--all',
      'also the revoked ones',
    ),
    'l9-memory keys list',
  ).action(run(async () => (await import('../commands/keys.ts')).list));
  example(
    forAdmins(
      keys
        .command('create')
        .description('make a key and print it, this once')
        .argument('<name>', 'what it is for, for people')
        .requiredOption('--of <name>', 'the actor that the key stands for, such as C'),
    )
      .option('--project <id>', 'the project of calls that name none')
      .option('--projects <list>', 'limit the key to these projects', list)
      .option('--scopes <list>', 'limit the key to these scopes', list)
      .option('--tools <sets>', 'list these sets of MCP tools', list)
      .option('--expires <time>', 'when the key expires; default: never'),
    'l9-memory keys create "Ann, laptop" --of C --project l9',
  ).action(run(async () => (await import('../commands/keys.ts')).create));
  example(
    forAdmins(keys.command('revoke').description('refuse keys from now on').argument('<ids...>', 'ids of keys')),
    'l9-memory keys revoke 0198c1f2-…',
  ).action(run(async () => (await import('../commands/keys.ts')).revoke));

  asking(
    program
      .command('scan')
      .description(
        'look for secrets in what is already stored; prints ids and patterns, never texts; exit code 1 if there are any',
      ),
    'an admin',
    'L',
  ).action(run(async () => (await import('../commands/scan.ts')).scan));

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
  ).action(run(async () => (await import('../commands/audit.ts')).verify));
  asking(
    audit
      .command('export')
      .description('write the audit log as JSON lines, in order of time')
      .option('--from <time>', 'rows of this time and later')
      .option('--to <time>', 'rows before this time; default: now')
      .option('--output <file>', 'output file; default: standard output'),
    'an admin',
    'L',
  ).action(run(async () => (await import('../commands/audit.ts')).exportLines));
}
