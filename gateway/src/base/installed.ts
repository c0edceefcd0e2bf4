import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** The packages that the installation leaves out because few need them, and that are not installed beside it. */
export const missingOf = (packages: readonly string[]): string[] =>
  packages.filter((name) => {
    try {
      require.resolve(name);
      return false;
    } catch {
      return true;
    }
  });

/** How to install them. */
export const howToInstall = (packages: readonly string[]): string =>
  `run \`npm install ${packages.join(' ')}\` where l9-memory is installed (with -g where it is installed globally)`;
