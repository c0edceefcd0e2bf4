// Archives the session of a hook in a process of its own, so that the editor never waits, whatever becomes of the session.
import { spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { programPath } from '../../base/paths.ts';
import { namedPlace } from '../../config/place.ts';
import type { Editor } from '../../editors/editor.ts';
import { readEditors } from '../../home/editors.ts';
import { inferProject } from '../../mcp/working-copy.ts';
import type { HookInput, HookOptions } from './input.ts';

/** An editor that `install` gave no actor acts as C. */
const NAMELESS = 'C';

interface Hook {
  editor: Editor;
  input: HookInput;
  options: HookOptions;
  env: NodeJS.ProcessEnv;
  home: string;
}

/** `log` gets a line with the pointer of the archive, or why the session was refused. */
export function archiveInBackground({ editor, input, options, env, home }: Hook, log: number): string {
  const { sessionId, transcript, folder } = input;
  if (sessionId === null || transcript === null) {
    closeSync(log);
    return 'stdin names no session_id or transcript_path';
  }
  const { home: _, within: __, tokens: ___, ...others } = options;
  const project = options.project ?? inferProject(namedPlace(env).project, folder) ?? undefined;
  const caller = readEditors(home)[editor.name]?.caller ?? NAMELESS;
  const args = ['archive', 'add', `--session-id=${sessionId}`, `--from=${editor.name}`, '--start'];
  for (const [name, value] of Object.entries({ ...others, project, caller })) {
    if (typeof value === 'string') args.push(`--${name}=${value}`);
    else if (value === true) args.push(`--${name}`);
  }
  // It is a path, even where it looks like an option. The child starts in another folder.
  args.push('--', transcript);
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', programPath('cli.ts'), ...args], {
    detached: true,
    stdio: ['ignore', log, log],
    cwd: home,
    // A relative path would name another folder there.
    env: { ...env, L9_MEMORY_HOME: home },
  });
  child.on('error', () => {});
  child.unref();
  closeSync(log);
  return 'handed to the archive';
}
