// Starts the server: `npm start`, or `l9-memory start`.
import { restartWithMallocTrim } from './commands/support/malloc-trim.ts';

restartWithMallocTrim();
const { serve } = await import('./commands/start.ts');
const onDemand = process.argv.includes('--on-demand');
process.exitCode = await serve(process.env, { onDemand });
