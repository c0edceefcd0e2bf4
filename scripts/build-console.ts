// `npm run build`: makes dist/console, which the gateway serves. `npm ci` runs it, too; an installation without the packages for
// development has no bundler, and goes on without the console.
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', 'console');

const bundler = await import('vite').catch((error: NodeJS.ErrnoException) => {
  if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
  return null;
});
if (bundler) await bundler.build({ root, configFile: join(root, 'vite.config.ts'), logLevel: 'warn' });
else
  process.stderr.write(
    'The console is not built: it needs the packages for development (npm ci without --omit=dev).\n',
  );
