import { existsSync } from 'node:fs';
import { claudeCode } from './claude-code.ts';
import { claudeDesktop } from './claude-desktop.ts';
import { codex } from './codex.ts';
import { cursor } from './cursor.ts';
import type { Editor, Place } from './editor.ts';
import { geminiCli } from './gemini-cli.ts';
import { opencode } from './opencode.ts';
import { vscode } from './vscode.ts';
import { windsurf } from './windsurf.ts';

export const editors: readonly Editor[] = [
  claudeCode,
  cursor,
  codex,
  vscode,
  geminiCli,
  claudeDesktop,
  windsurf,
  opencode,
];

export const editorNamed = (name: string): Editor | undefined => editors.find((editor) => editor.name === name);

/** Whether there are signs of the editor on this machine. */
export const isFound = (editor: Editor, place: Place): boolean =>
  editor.traces({ ...place, project: null }).some((path) => existsSync(path));
