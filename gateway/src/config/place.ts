// The settings that a hook needs: it runs with every prompt, so it reads these few by itself, without the schema of all settings.
import { homedir } from 'node:os';
import { resolve } from 'node:path';

/** Editors do not expand ~ in the variables that they set: without this, each of their folders would get a home named ~. */
export const homeOf = (path: string | undefined): string =>
  resolve((path || '~/.l9-memory').replace(/^~(?=$|[/\\])/, homedir()));

/** The project, branch and org of an editor's session, in place of those of its working copy. */
export const namedPlace = (
  env: { [Name in `${'L9' | 'CORTEX'}_${'PROJECT' | 'BRANCH' | 'ORG'}`]?: string | undefined },
) => ({
  project: env.L9_PROJECT || env.CORTEX_PROJECT || null,
  branch: env.L9_BRANCH || env.CORTEX_BRANCH || null,
  org: env.L9_ORG || env.CORTEX_ORG || null,
});
