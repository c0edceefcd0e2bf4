// What an editor writes to the stdin of a hook. The fields have the names of Claude Code, Codex and Gemini CLI, or those of Cursor.
import { resolve } from 'node:path';

const MAX_STDIN_BYTES = 1024 * 1024;
const STDIN_WITHIN_MS = 2_000;
const SESSION_ID = /^[A-Za-z0-9._-]{1,200}$/;

export interface HookInput {
  event: string | null;
  sessionId: string | null;
  /** The folder that the session works in. */
  folder: string;
  transcript: string | null;
  prompt: string | null;
  /** Why a session starts: startup, resume, clear or compact. */
  source: string | null;
}

/** What stands behind the event on the command line. */
export interface HookOptions {
  home?: string;
  within?: string;
  tokens?: string;
  tags?: string;
  project?: string;
  scope?: string;
  url?: string;
  redact?: boolean;
  messages?: boolean;
}

export class UnreadableInput extends Error {}

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

export async function readInput(stdin: NodeJS.ReadStream, env: NodeJS.ProcessEnv): Promise<HookInput> {
  let fields: Record<string, unknown>;
  try {
    fields = JSON.parse(await readAll(stdin)) as Record<string, unknown>;
  } catch (error) {
    throw error instanceof SyntaxError ? new UnreadableInput('stdin is not JSON') : error;
  }
  if (typeof fields !== 'object' || fields === null) throw new UnreadableInput('stdin is not a JSON object');
  const roots = Array.isArray(fields.workspace_roots) ? fields.workspace_roots : [];
  const folder = textOf(fields.cwd) ?? textOf(roots[0]) ?? textOf(env.CURSOR_PROJECT_DIR) ?? process.cwd();
  const sessionId = textOf(fields.session_id) ?? textOf(fields.conversation_id);
  const transcript = textOf(fields.transcript_path);
  return {
    event: textOf(fields.hook_event_name),
    sessionId: sessionId !== null && SESSION_ID.test(sessionId) ? sessionId : null,
    folder,
    transcript: transcript === null ? null : resolve(folder, transcript),
    prompt: textOf(fields.prompt),
    source: textOf(fields.source),
  };
}

async function readAll(stdin: NodeJS.ReadStream): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  const late = setTimeout(() => stdin.destroy(new UnreadableInput('stdin did not end')), STDIN_WITHIN_MS);
  try {
    for await (const part of stdin) {
      size += (part as Buffer).length;
      if (size > MAX_STDIN_BYTES) throw new UnreadableInput(`stdin: at most ${MAX_STDIN_BYTES} bytes`);
      parts.push(part as Buffer);
    }
  } finally {
    clearTimeout(late);
  }
  return Buffer.concat(parts).toString('utf8');
}
