// Starts the server: `npm start`, or `l9-memory start`.
import { restartWithLessMemory } from './commands/support/less-memory.ts';

restartWithLessMemory();
const { serve } = await import('./commands/start.ts');
const onDemand = process.argv.includes('--on-demand');
process.exitCode = await serve(process.env, { onDemand });
