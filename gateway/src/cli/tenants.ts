// Commands for tenants of several databases (cells).
import type { Command } from 'commander';
import { example, run } from './options.ts';

const onDatabase = (command: Command, whose: string) =>
  command
    .option(
      '--root-url <url>',
      `URL of a superuser on the server ${whose}; ROOT_DATABASE_URL or a file keeps its password out of \`ps\``,
    )
    .option('--database <name>', 'the database', 'l9_memory');

export function tenantCommands(program: Command): void {
  const tenant = program
    .command('tenant')
    .description('carry a tenant to another database (docs/how-to/move-a-tenant.md)');

  onDatabase(tenant.command('export'), 'that has the tenant')
    .description('write all rows of a tenant to a file, while it is in use')
    .argument('<tenant>', 'its id, name or route')
    .requiredOption('--out <file>', 'the file, which must not exist')
    .option('--encrypt', 'encrypt it with the passphrase in BACKUP_PASSPHRASE, or one that you type')
    .option('--key <file>', 'encrypt it with the keys of age in this file')
    .addHelpText('after', example('l9-memory tenant export acme --out acme.tenant --encrypt'))
    .action(run(async () => (await import('../commands/tenant/export.ts')).exportTenant));

  onDatabase(tenant.command('import'), 'that gets the tenant')
    .description('bring an exported tenant into a database that does not have it')
    .argument('<file>', 'a file that `l9-memory tenant export` wrote')
    .option('--key <file>', 'decrypt it with the secret keys of age in this file')
    .addHelpText('after', example('l9-memory tenant import acme.tenant'))
    .action(run(async () => (await import('../commands/tenant/import.ts')).importTenant));

  onDatabase(tenant.command('move'), 'that has the tenant')
    .description('move a tenant to another database, and stop it only for a moment; run again, it finishes')
    .argument('<tenant>', 'its id, name or route')
    .option(
      '--to <url>',
      'URL of a superuser on the other database; TARGET_DATABASE_URL or a file keeps its password out of `ps`',
    )
    .option('--directory <file>', 'the map from routes to cells that a proxy reads, which is changed')
    .option('--cell <name>', 'what the directory calls the other database')
    .option('--reload <command>', 'the command that has the proxy read its directory again')
    .option('--cancel', 'serve the tenant here again, and remove what has arrived there')
    .addHelpText(
      'after',
      example("l9-memory tenant move acme --directory cells.map --cell eu2 --reload 'systemctl reload haproxy'"),
    )
    .action(run(async () => (await import('../commands/tenant/move.ts')).moveTenant));
}
