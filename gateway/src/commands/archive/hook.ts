// `l9-memory archive hook`: what Claude Code runs when a session ends. It hands the session to a process of its own and returns
// at once, so that the editor never waits, whatever becomes of the session.
import { spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { loadConfig } from '../../config/config.ts';
import { makeHome, openLog } from '../../home/folder.ts';
import { inferProject } from '../../mcp/working-copy.ts';
import type { AddOptions } from './add.ts';

const MAX_STDIN_BYTES = 1024 * 1024;
const STDIN_WITHIN_MS = 2_000;
const LOG_LIMIT_BYTES = 1024 * 1024;

/** The fields of a hook's JSON that are used. Others, also new ones, are ignored. */
const input = z.object({
  hook_event_name: z.literal('SessionEnd'),
  session_id: z.string().regex(/^[A-Za-z0-9._-]{1,200}$/),
  transcript_path: z.string().min(1),
  cwd: z.string().optional(),
});

/** Returns 0 when the background process is started, and 1, which does not stop the editor either, if it cannot be. */
export async function hook(env: NodeJS.ProcessEnv, options: AddOptions): Promise<number> {
  try {
    const { home, place } = loadConfig(env);
    const parsed = input.safeParse(JSON.parse(await readStdin()));
    if (!parsed.success) {
      const at = parsed.error.issues[0]?.path.join('.');
      throw new Error(`stdin is not the JSON of a SessionEnd hook${at ? ` (${at})` : ''}`);
    }
    const { session_id, transcript_path, cwd } = parsed.data;
    const project = options.project ?? inferProject(place.project, cwd ?? process.cwd());
    const args = ['archive', 'add', `--session-id=${session_id}`, '--from=claude-code', '--start'];
    for (const [name, value] of Object.entries({ ...options, project, tags: options.tags?.join(',') })) {
      if (typeof value === 'string') args.push(`--${name}=${value}`);
      else if (value === true) args.push(`--${name}`);
    }
    // The argument of the hook is a path, even where it looks like an option. The child starts in another folder.
    args.push('--', resolve(cwd ?? process.cwd(), transcript_path));
    makeHome(home);
    // A line for each session, with its pointer or why it was refused.
    const log = openLog(join(home, 'archive-hook.log'), LOG_LIMIT_BYTES);
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', process.argv[1]!, ...args], {
      detached: true,
      stdio: ['ignore', log, log],
      cwd: home,
      // A relative path would name another folder there.
      env: { ...env, L9_MEMORY_HOME: home },
    });
    child.on('error', () => {});
    child.unref();
    closeSync(log);
    return 0;
  } catch (error) {
    const reason = error instanceof SyntaxError ? 'stdin is not JSON' : (error as Error).message;
    process.stderr.write(`l9-memory archive hook: ${reason}\n`);
    return 1;
  }
}

async function readStdin(): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  const late = setTimeout(() => process.stdin.destroy(new Error('stdin did not end')), STDIN_WITHIN_MS);
  try {
    for await (const part of process.stdin) {
      size += (part as Buffer).length;
      if (size > MAX_STDIN_BYTES) throw new Error(`stdin: at most ${MAX_STDIN_BYTES} bytes`);
      parts.push(part as Buffer);
    }
  } finally {
    clearTimeout(late);
  }
  return Buffer.concat(parts).toString('utf8');
}
