// Where files of this package are, whether Node runs the sources or what `npm run build` makes of them.
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const here = import.meta.dirname;

/** The folder of package.json. Sources and compiled files lie at different depths in it. */
export const packageRoot = rootOf(here);

/** Whether the compiled files run, as they do in a package. The build puts them all into one folder. */
export const isCompiled = !import.meta.filename.endsWith('.ts');

/** The file that a thread or a process runs, by its path in gateway/src. */
export const programPath = (source: string): string =>
  isCompiled ? join(here, `${basename(source, '.ts')}.js`) : join(packageRoot, 'gateway', 'src', source);

/** What a person types here: a clone has scripts of npm for it. */
export const typed = isCompiled
  ? { start: 'npx l9-memory start', token: 'npx l9-memory token --caller', psql: 'npx l9-memory psql' }
  : { start: 'npm start', token: 'npm run token -- --caller', psql: 'npm run psql' };

function rootOf(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : rootOf(dirname(folder));
}
