// `npm run eval -- cranfield DIR`, `-- qmsum DIR`, `-- cjk` and `-- code`: measures retrieval on judged queries.
import { Command } from 'commander';
import { evaluate } from './evaluate.ts';

await new Command('eval')
  .description('load a judged collection, run its queries in every mode, print recall, nDCG, MRR and success')
  .argument('<collection>', 'cranfield, qmsum, cjk or code')
  .argument('[folder]', 'the folder with the files of cranfield or qmsum')
  .option('--url <url>', 'URL of the server; default: the server of this home folder')
  .option('--caller <name>', 'the caller that searches', 'C')
  .option('--token <jwt>', 'use this token instead of signing one for the caller')
  .option('--ablation', 'also run with parts of the search switched off; changes the settings of the tenant meanwhile')
  .option('--admin <name>', 'the caller that changes the settings', 'L')
  .option('--json <file>', 'also write the figures to this file')
  .showHelpAfterError()
  .action(async (collection: string, folder: string | undefined, options) => {
    process.exitCode = await evaluate(process.env, collection, folder, options);
  })
  .parseAsync();
