// Commands that keep a copy of everything, and bring it back.
import type { Command } from 'commander';
import { example, run } from './options.ts';

export function backupCommands(program: Command): void {
  program
    .command('backup')
    .description('write all of the database to a file, while it is in use (docs/how-to/back-up-and-restore.md)')
    .argument('<file>', 'the file, which must not exist; in a folder it is named after its time')
    .option('--encrypt', 'encrypt it with the passphrase in BACKUP_PASSPHRASE, or one that you type')
    .option('--key <file>', 'encrypt it with the keys of age in this file')
    .option('--with-keys', 'also keep credentials.json in it, which needs --encrypt or --key')
    .option('--keep <number>', 'delete all but so many of the newest backups of the same folder and name pattern')
    .action(run(async () => (await import('../commands/backup/backup.ts')).backup))
    .addHelpText('after', example('l9-memory backup /var/backups/l9 --encrypt --with-keys --keep 7'));

  program
    .command('restore')
    .description('bring a backup back into an empty place, and check that all of it is there')
    .argument('<file>', 'a file that `l9-memory backup` wrote')
    .option('--key <file>', 'decrypt it with the secret keys of age in this file')
    .option(
      '--root-url <url>',
      'of a server: URL of a superuser; ROOT_DATABASE_URL or a file keeps its password out of `ps`',
    )
    .option('--database <name>', 'of a server: the database, which is missing or empty', 'l9_memory')
    .action(run(async () => (await import('../commands/backup/restore.ts')).restore))
    .addHelpText('after', example('L9_MEMORY_HOME=~/restored l9-memory restore l9-memory-20261126T031500Z.backup'));
}
