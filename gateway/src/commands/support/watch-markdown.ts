import { watch } from 'node:fs';
import { isMarkdown } from './markdown-files.ts';

const QUIET_MS = 300;

/** Runs the work after each change of a Markdown file below the paths, one run at a time, until the process is stopped. */
export async function watchMarkdown(paths: string[], work: () => Promise<unknown>): Promise<never> {
  let isChanged = false;
  let wake = () => {};
  const changed = () => {
    isChanged = true;
    wake();
  };
  for (const path of paths)
    watch(path, { recursive: true }, (_, name) => {
      if (name === null || isMarkdown(name)) changed();
      // A folder that goes while it is looked at is a change as well.
    }).on('error', changed);
  process.stderr.write('watching for changes; Ctrl-C ends it\n');
  for (;;) {
    while (!isChanged)
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    // An editor writes a file in several steps.
    await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
    isChanged = false;
    await work();
  }
}
