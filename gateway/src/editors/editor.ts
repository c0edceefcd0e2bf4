// What the file of an editor says: where its settings lie, and what l9-memory changes in them. Nothing here reads or writes a file.
import { join } from 'node:path';

/** Whose settings are meant, and on which machine. */
export interface Place {
  /** The home folder of the user. */
  home: string;
  /** The folder of the project whose settings are meant; null: those of the user. */
  project: string | null;
  platform: NodeJS.Platform;
  env: NodeJS.ProcessEnv;
}

/** How an editor starts the command `l9-memory`: `node …/l9-memory.cjs`, or `npx -y l9-memory`. */
export interface Launch {
  command: string;
  args: string[];
  /** The home folder of l9-memory, where it is not the default. */
  home: string | null;
  platform: NodeJS.Platform;
}

export type Change =
  /** A value at a path of a JSON file, which may have comments. A `default` stays as the user has it. */
  | { kind: 'value'; file: string; path: string[]; value: unknown; isDefault?: boolean }
  /** An item of a list at a path of such a file. */
  | { kind: 'item'; file: string; path: string[]; value: unknown }
  /** A table of a TOML file. */
  | { kind: 'table'; file: string; table: string[]; value: Record<string, unknown> }
  /** A whole file. */
  | { kind: 'text'; file: string; text: string };

/** The actor that an editor is: its rows carry `creator`. */
export interface EditorActor {
  caller: string;
  creator: string;
  source: string;
  agent: string;
}

export type HookRole = 'start' | 'prompt' | 'archive';

export interface Editor {
  name: string;
  title: string;
  actor: EditorActor;
  /** The folder or file by which the editor is found on this machine. */
  traces: (place: Place) => string[];
  /** Null: the editor has no such settings, for instance none of a project. */
  changes: (place: Place, launch: Launch) => Change[] | null;
  /** What its hooks are for, by the names of their events. */
  hooks: Record<string, HookRole>;
  /** What such a hook prints, to add a text to the session. */
  answer: (event: string, text: string) => object;
}

/** The name of the server in all settings. */
export const SERVER = 'l9-memory';

/** The folder for the settings of programs, as the system has it. */
export function programSettings({ home, platform, env }: Place): string {
  if (platform === 'win32') return env.APPDATA || join(home, 'AppData', 'Roaming');
  if (platform === 'darwin') return join(home, 'Library', 'Application Support');
  return env.XDG_CONFIG_HOME || join(home, '.config');
}

const homeOption = ({ home }: Launch) => (home === null ? [] : ['--home', home]);

/** The command that serves MCP over stdio. There is no secret in it: the key is looked up in the home folder by the name of the editor, if any. */
export const mcpCommand = (launch: Launch, editor: string | null): { command: string; args: string[] } => ({
  command: launch.command,
  args: [...launch.args, 'mcp', ...(editor === null ? [] : ['--caller', editor]), ...homeOption(launch)],
});

/** The command of a hook, as a shell reads it. */
export function hookCommand(launch: Launch, editor: string, event: string): string {
  // PowerShell takes a quoted path for a text, so a path with blanks is left to PATH.
  const program = launch.platform === 'win32' && /\s/.test(launch.command) ? 'node' : launch.command;
  const words = [program, ...launch.args, 'hook', editor, event, ...homeOption(launch)];
  return words.map((word) => quoted(word, launch.platform)).join(' ');
}

function quoted(word: string, platform: NodeJS.Platform): string {
  if (/^[\w@%+=:,./\\~-]+$/.test(word) && (platform === 'win32' || !word.includes('\\'))) return word;
  return platform === 'win32' ? `"${word}"` : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Hooks in the form of Claude Code, which Codex and Gemini CLI took over: a list of groups for each event. */
export const groupedHooks = (
  file: string,
  editor: string,
  launch: Launch,
  timeouts: Record<string, number>,
  others: Record<string, unknown> = {},
): Change[] =>
  Object.entries(timeouts).map(([event, timeout]) => ({
    kind: 'item',
    file,
    path: ['hooks', event],
    value: { hooks: [{ type: 'command', command: hookCommand(launch, editor, event), ...others, timeout }] },
  }));

/** The answer to hooks of that form. */
export const hookSpecificOutput = (event: string, text: string): object => ({
  hookSpecificOutput: { hookEventName: event, additionalContext: text },
});

/** Whether an item of a list of hooks runs this command for the editor, in this or an earlier version. */
export function isOurHook(item: unknown, editor: string): boolean {
  const commands = commandsIn(item);
  const ours = new RegExp(`l9-memory(?:\\.cjs)?["']? (?:hook ${editor} |archive hook\\b)`);
  return commands.length > 0 && commands.every((command) => ours.test(command));
}

function commandsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) =>
    key === 'command' && typeof one === 'string' ? [one] : commandsIn(one),
  );
}
