// Starts the server: `npm start`, or `l9-memory start`.
import { serve } from './commands/start.ts';

const onDemand = process.argv.includes('--on-demand');
process.exitCode = await serve(process.env, { onDemand });
