// `npm run build`: makes dist/console, which the gateway serves. `npm ci` runs it, too; an installation without the packages for
// development has no bundler, and goes on without the console.
import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const target = join(root, 'dist', 'console');
// Beside it, so that a gateway that runs serves the pages of before until the new ones are complete.
const draft = `${target}.draft-${process.pid}`;
const old = `${target}.old-${process.pid}`;

const bundler = await import('vite').catch((error: NodeJS.ErrnoException) => {
  if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
  return null;
});
if (bundler) {
  try {
    await bundler.build({
      root: join(root, 'console'),
      configFile: join(root, 'console', 'vite.config.ts'),
      logLevel: 'warn',
      build: { outDir: draft, emptyOutDir: true },
    });
    if (existsSync(target)) renameSync(target, old);
    renameSync(draft, target);
  } finally {
    for (const folder of [draft, old]) rmSync(folder, { recursive: true, force: true });
  }
} else
  process.stderr.write(
    'The console is not built: it needs the packages for development (npm ci without --omit=dev).\n',
  );
