// `npm run eval -- cranfield DIR`, `-- qmsum DIR`, `-- cjk`, `-- code` and `-- paraphrases`: measures retrieval on judged queries;
// `-- relevance [DIR]`: measures what questions about another subject find, and what that costs the others;
// `-- confidence DIR`: measures whether the confidence of memory_find is what it says, on cranfield and qmsum in folders of DIR;
// `-- secrets [CRANFIELD DIR]`: measures what the guard against secrets finds.
import { Command } from 'commander';
import { evaluateConfidence } from './confidence.ts';
import { evaluate } from './evaluate.ts';
import { evaluateRelevance } from './relevance.ts';
import { evaluateSecrets } from './secrets/evaluate.ts';

await new Command('eval')
  .description('load a judged collection, run its queries in every mode, print recall, nDCG, MRR and success')
  .argument('<collection>', 'cranfield, qmsum, cjk, code, paraphrases, relevance, confidence, or secrets')
  .argument(
    '[folder]',
    'the folder with the files of cranfield or qmsum; for confidence and relevance, one with a folder of each; for secrets, that of cranfield, if its abstracts are to be checked too',
  )
  .option('--url <url>', 'URL of the server; default: the server of this home folder')
  .option('--caller <name>', 'the caller that searches', 'C')
  .option('--token <jwt>', 'use this token instead of signing one for the caller')
  .option('--ablation', 'also run with parts of the search switched off; changes the settings of the tenant meanwhile')
  .option('--admin <name>', 'the caller that changes the settings', 'L')
  .option('--json <file>', 'also write the figures to this file')
  .option('--projects <names>', 'for confidence: only these projects, separated by commas')
  .option('--every <n>', 'for confidence and relevance: only every nth question')
  .option('--mode <mode>', 'for relevance: hybrid, lexical or semantic; default: hybrid')
  .option('--details', 'for secrets: also list what was missed and what was refused without need')
  .showHelpAfterError()
  .action(async (collection: string, folder: string | undefined, options) => {
    process.exitCode =
      collection === 'secrets'
        ? await evaluateSecrets(folder, options)
        : collection === 'confidence'
          ? await evaluateConfidence(process.env, folder, options)
          : collection === 'relevance'
            ? await evaluateRelevance(process.env, folder, options)
            : await evaluate(process.env, collection, folder, options);
  })
  .parseAsync();
