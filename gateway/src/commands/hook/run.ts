// `l9-memory hook <editor> <event>`: what editors run when a session starts, with each prompt, before they compact a session and when it
// ends. It reads their JSON, answers in their format, and never fails or delays them: within its time limit it answers or says nothing,
// it ends with 0, and a line in hooks.log tells what happened. It loads nothing that takes long, and asks the running server.
import { appendFileSync, closeSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { homeOf, namedPlace } from '../../config/place.ts';
import type { Editor, HookRole } from '../../editors/editor.ts';
import { editorNamed } from '../../editors/index.ts';
import { keyOfEditor } from '../../home/editors.ts';
import { makeHome, openLog } from '../../home/folder.ts';
import { type Holder, readHolder } from '../../home/lock.ts';
import { HomeProblem } from '../../home/problem.ts';
import { inferWorkingCopy } from '../../mcp/working-copy.ts';
import { BUDGET, type CallTools, recallForPrompt, recallForStart } from '../../recall/recall.ts';
import { answers, CallRefused, callTools } from './calls.ts';
import { givenTo } from './given.ts';
import { type HookInput, type HookOptions, readInput, UnreadableInput } from './input.ts';

/** From the start of the process. Nobody waits for a prompt to be sent; a session may have to wait for the server to start. */
const WITHIN_MS: Record<HookRole, number> = { start: 8_000, prompt: 300, archive: 5_000 };
const LOG_LIMIT_BYTES = 1024 * 1024;

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
/** All but the first three are those of `archive add`. */
const OPTIONS = {
  home: text,
  within: text,
  tokens: text,
  tags: text,
  project: text,
  scope: text,
  url: text,
  redact: flag,
  messages: flag,
};

interface Hook {
  editor: Editor;
  event: string;
  input: HookInput;
  options: HookOptions;
  env: NodeJS.ProcessEnv;
  home: string;
}

export async function hook(env: NodeJS.ProcessEnv, args: string[]): Promise<void> {
  const home = homeOf(optionIn(args, '--home') ?? env.L9_MEMORY_HOME);
  const [name = '', event = ''] = args;
  const end = (outcome: string) => {
    note(home, `${name} ${event}: ${outcome}, ${Math.round(performance.now())} ms`);
    process.exit(0);
  };
  // An editor that ends closes the pipe that the answer is written to.
  process.on('uncaughtException', ({ code, name: kind }: NodeJS.ErrnoException) => end(code ?? kind));
  try {
    const { values: options } = parseArgs({ args: args.slice(2), options: OPTIONS, allowPositionals: false });
    const editor = editorNamed(name);
    const role = editor && Object.hasOwn(editor.hooks, event) ? editor.hooks[event] : undefined;
    if (!editor || !role) return end('there is no such hook');
    const limit = Number(options.within) || WITHIN_MS[role];
    setTimeout(() => end(`not done within ${limit} ms`), Math.max(1, limit - performance.now()));
    const input = await readInput(process.stdin, env);
    if (input.event !== null && input.event !== event) return end('stdin is about another event');
    const outcome = await RUN[role]({ editor, event, input, options, env, home });
    if (typeof outcome === 'string') return end(outcome);
    process.stdout.write(`${JSON.stringify(outcome.answer)}\n`, () => end(outcome.says));
  } catch (error) {
    // Messages of others may quote what they were given.
    const isOwn = [UnreadableInput, CallRefused, HomeProblem].some((one) => error instanceof one);
    const { name: kind, message, code } = error as NodeJS.ErrnoException;
    end(isOwn ? message : (code ?? kind));
  }
}

type Outcome = string | { answer: object; says: string };

const RUN: Record<HookRole, (hook: Hook) => Promise<Outcome>> = {
  async start(hook) {
    const { editor, input, home } = hook;
    const given = givenTo(home, editor.name, input.sessionId);
    // What was said before is still there only in a session that is resumed.
    const before = input.source === 'resume' ? given.read() : new Set<string>();
    const holder = await serverOf(hook, true);
    if (!holder) return 'no server runs';
    const { call, isInProject } = await callerOf(hook, holder);
    const budget = Number(hook.options.tokens) || BUDGET.start;
    const block = await recallForStart(call, { budget, given: before, isInProject, now: Date.now() });
    given.write([...before, ...(block?.ids ?? [])]);
    given.tidy(Date.now());
    return block ? told(hook, block) : 'nothing to recall';
  },

  async prompt(hook) {
    const { editor, input, home } = hook;
    const prompt = input.prompt?.trim() ?? '';
    // A command of the editor is about nothing.
    if (prompt === '' || /^\/\S+$/.test(prompt)) return 'no question';
    const holder = await serverOf(hook, false);
    if (!holder) return 'no server runs';
    const given = givenTo(home, editor.name, input.sessionId);
    const before = given.read();
    const { call, isInProject } = await callerOf(hook, holder);
    const budget = Number(hook.options.tokens) || BUDGET.prompt;
    const block = await recallForPrompt(call, prompt, { budget, given: before, isInProject });
    if (!block) return 'nothing relevant';
    given.write([...before, ...block.ids]);
    return told(hook, block);
  },

  async archive(hook) {
    const { archiveInBackground } = await import('./archive.ts');
    return archiveInBackground(hook, openHookLog(hook.home));
  },
};

const told = ({ editor, event }: Hook, { text, ids }: { text: string; ids: string[] }): Outcome => ({
  answer: editor.answer(event, text),
  says: `recalled ${ids.length}`,
});

/** The server of the home folder. One that does not run is started only where there is time for it. */
async function serverOf({ home, env }: Hook, starts: boolean): Promise<Holder | null> {
  const holder = readHolder(home);
  if (holder && (await answers(holder))) return holder;
  if (!starts) return null;
  const { findOrStartServer } = await import('../../home/find-server.ts');
  return findOrStartServer(home, { ...env, L9_MEMORY_HOME: home });
}

async function callerOf(
  { editor, env, home, input, options }: Hook,
  { url }: Holder,
): Promise<{ call: CallTools; isInProject: boolean }> {
  const named = namedPlace(env);
  const place = inferWorkingCopy({ ...named, project: options.project ?? named.project }, input.folder, env);
  const headers = Object.fromEntries(
    (['project', 'branch'] as const).flatMap((name) =>
      place[name] === null ? [] : [[`x-l9-${name}`, Buffer.from(place[name]).toString('latin1')]],
    ),
  );
  const key = keyOfEditor(home, editor.name) ?? (await keyOfC(env, home));
  const caller = { url, key, headers };
  return { call: (calls) => callTools(caller, calls), isInProject: place.project !== null };
}

/** Where no key was made for the editor, it acts as C. */
async function keyOfC(env: NodeJS.ProcessEnv, home: string): Promise<string> {
  const [{ loadConfig }, { loadCredentials }] = await Promise.all([
    import('../../config/config.ts'),
    import('../../home/credentials.ts'),
  ]);
  return loadCredentials(loadConfig({ ...env, L9_MEMORY_HOME: home })).mcpApiKeys.C?.[0] ?? '';
}

function openHookLog(home: string): number {
  makeHome(home);
  return openLog(join(home, 'hooks.log'), LOG_LIMIT_BYTES);
}

function note(home: string, line: string): void {
  try {
    const log = openHookLog(home);
    appendFileSync(log, `${new Date().toISOString()} ${line.replace(/[\r\n]+/g, ' ')}\n`);
    closeSync(log);
  } catch {
    // Where not even a line can be written, the editor still goes on.
  }
}

function optionIn(args: string[], name: string): string | undefined {
  const at = args.indexOf(name);
  return at >= 0 ? args[at + 1] : args.find((arg) => arg.startsWith(`${name}=`))?.slice(name.length + 1);
}
