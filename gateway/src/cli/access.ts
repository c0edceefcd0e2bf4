// Commands about who may call: tokens and keys.
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
    })
    .addHelpText('after', example('l9-memory token --caller C --projects l9 --expires 8h'));

  const keys = program.command('keys').description('list, make and revoke the keys of editors and applications');
  const forAdmins = (command: Command) => asking(command, 'an admin').option('--json', 'print lines of JSON');
  forAdmins(keys.command('list').description('list the keys, never their secrets'))
    .option('--all', 'also the revoked ones')
    .addHelpText('after', example('l9-memory keys list'))
    .action(run(async () => (await import('../commands/keys.ts')).list));
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
    .option('--expires <time>', 'when the key expires; default: never')
    .addHelpText('after', example('l9-memory keys create "Ann, laptop" --of C --project l9'))
    .action(run(async () => (await import('../commands/keys.ts')).create));
  forAdmins(keys.command('revoke').description('refuse keys from now on').argument('<ids...>', 'ids of keys'))
    .addHelpText('after', example('l9-memory keys revoke 0198c1f2-…'))
    .action(run(async () => (await import('../commands/keys.ts')).revoke));
}
