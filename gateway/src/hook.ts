// `l9-memory hook …`, without the other commands, which would take longer to load than it may run.
import { keepCompiledModules } from './home/cache.ts';

// What is imported before this is compiled each time.
keepCompiledModules();
const { hook } = await import('./commands/hook/run.ts');
await hook(process.env, process.argv.slice(2));
