// Finds a session by its id where the tools of this machine keep theirs.
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { KnownError } from '../base/errors.ts';
import { contextOfSession, findCommand } from './cm-command.ts';
import { type ReadOptions, readSessionFile, readSessionText } from './read-session.ts';
import type { Session } from './session.ts';

/** It becomes part of a path, so it can hold neither a separator nor a pattern. */
const ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$/;

/** Looks at Claude Code, then at Codex, then asks cm; `from` names one of them. */
export async function findSession(id: string, env: NodeJS.ProcessEnv, options: ReadOptions = {}): Promise<Session> {
  if (!ID.test(id))
    throw new KnownError('L9VAL', 'session: must be an id of letters, digits, ., _, : and -', 'session');
  const { from } = options;
  const wanted = { ...options, sessionId: id };
  for (const tool of ['claude-code', 'codex'] as const) {
    if (from !== undefined && from !== tool) continue;
    const path = await (tool === 'codex' ? inCodex : inClaudeCode)(id, env);
    if (path !== null) return readSessionFile(path, { ...wanted, from: tool });
  }
  if (from === 'cm' || (from === undefined && findCommand('cm', env)))
    return readSessionText(await contextOfSession(id, env), { ...wanted, from: 'cm' });
  const where = from ?? 'Claude Code and Codex, and the command cm is not installed';
  throw new KnownError('L9VAL', `session: there is no such session in ${where}`, 'session');
}

const homeOf = (env: NodeJS.ProcessEnv) => env.HOME || homedir();

/** `projects/<folder>/<id>.jsonl`; one folder for each working copy. */
async function inClaudeCode(id: string, env: NodeJS.ProcessEnv): Promise<string | null> {
  const projects = join(env.CLAUDE_CONFIG_DIR || join(homeOf(env), '.claude'), 'projects');
  const folders = await readdir(projects).catch(() => []);
  return folders.map((folder) => join(projects, folder, `${id}.jsonl`)).find((path) => existsSync(path)) ?? null;
}

/** `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`. */
async function inCodex(id: string, env: NodeJS.ProcessEnv): Promise<string | null> {
  const sessions = join(env.CODEX_HOME || join(homeOf(env), '.codex'), 'sessions');
  const paths = await readdir(sessions, { recursive: true }).catch(() => []);
  const path = paths.find((name) => basename(name).startsWith('rollout-') && name.endsWith(`-${id}.jsonl`));
  return path === undefined ? null : join(sessions, path);
}
