// Commands that start, stop and examine the server.
import type { Command } from 'commander';
import { PERSON } from '../auth/identity.ts';
import { example, inHome, run } from './options.ts';

export function serverCommands(program: Command): void {
  program
    .command('start')
    .description('start the server')
    .addHelpText('after', example('PORT=9002 l9-memory start'))
    .action(async () => {
      const { restartWithLessMemory } = await import('../commands/support/less-memory.ts');
      restartWithLessMemory();
      const { serve } = await import('../commands/start.ts');
      process.exitCode = await serve(process.env, { onDemand: false });
    });

  program
    .command('console')
    .description('print a link that signs you in to the console of the running server, once and within ten minutes')
    .addHelpText('after', example('l9-memory console'))
    .action(async () => {
      const { consoleLink } = await import('../commands/console.ts');
      await consoleLink(process.env);
    });

  program
    .command('status')
    .description('say what runs here and what to do next; `l9-memory` alone does the same')
    .option('--url <url>', 'URL of the server; default: the server of this home folder')
    .option('--caller <name>', 'the caller that counts', PERSON)
    .option('--token <jwt>', 'use this token instead of signing one for the caller')
    .option('--json', 'print a line of JSON')
    .addHelpText('after', example('l9-memory status'))
    .action(run(async () => (await import('../commands/status.ts')).status));

  program
    .command('stop')
    .description('stop the server of this home folder')
    .option('--json', 'print a line of JSON')
    .addHelpText('after', example('l9-memory stop'))
    .action(run(async () => (await import('../commands/status.ts')).stop));

  program
    .command('doctor')
    .description('check this machine, the server and its indexes, and say what to do about what is wrong')
    .option('--caller <name>', 'the caller of the trial save and searches', PERSON)
    .option('--json', 'print a line of JSON for each check')
    .addHelpText('after', example('l9-memory doctor'))
    .action(run(async () => (await import('../commands/doctor.ts')).doctor));

  program
    .command('mcp')
    .description('serve MCP over stdio through the server of this home folder, which is started if none runs')
    .option(
      '--caller <name>',
      'use the key that `install` made for this editor, or that of this caller in credentials.json; default: the key in MCP_API_KEY, otherwise C, under the name that the editor gives itself if an admin allows that',
    )
    .option('--home <folder>', 'the home folder; default: L9_MEMORY_HOME, or ~/.l9-memory')
    .option('--tools <sets>', 'list these sets of tools: core (the default), knowledge, archive, review, admin, all')
    .addHelpText('after', example('l9-memory mcp --caller C'))
    .action(async (options) => {
      const { keepCompiledModules } = await import('../home/cache.ts');
      keepCompiledModules();
      const { mcp } = await import('../mcp/stdio.ts');
      process.exitCode = await mcp(inHome(process.env, options), options);
    });
}
