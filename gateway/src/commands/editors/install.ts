// `l9-memory install` and `uninstall`: the entries of l9-memory in the settings of editors. All files of an editor are
// read and checked before the first is written.
import { createTwoFilesPatch } from 'diff';
import type { Change, Editor } from '../../editors/editor.ts';
import { editorNamed, editors, isFound } from '../../editors/index.ts';
import { entriesOf, type FileEdit, planInstall, planUninstall, recordOf } from '../../editors/plan.ts';
import { SettingsProblem } from '../../editors/problem.ts';
import {
  checkWritable,
  removeBackup,
  removeSettings,
  writeBackup,
  writeSettings,
} from '../../editors/settings-file.ts';
import { type InstalledEditor, readEditors, writeEditors } from '../../home/editors.ts';
import { reasonOf, told, Unusable } from '../support/client.ts';
import { visible } from '../support/output.ts';
import { identify, revoke } from './identity.ts';
import { isByNpx, type Setting, settingOf } from './setting.ts';

export interface InstallOptions {
  project?: boolean;
  dryRun?: boolean;
  print?: boolean;
  /** Whether an actor and a key are made for the editor; true by default. */
  key?: boolean;
}

const say = (text: string) => void process.stdout.write(`${text}\n`);

/** Returns 1 if the settings of an editor could not be changed. */
export const install = (env: NodeJS.ProcessEnv, names: string[], options: InstallOptions): Promise<number> =>
  told(async () => {
    const setting = settingOf(env, options.project === true);
    const chosen = choose(names, (editor) => isFound(editor, setting.place));
    if (chosen.length === 0) say(`None of these editors was found: ${editors.map(({ name }) => name).join(', ')}.`);
    return each(chosen, setting, async (editor, changes) => {
      if (options.print) return print(editor, changes);
      const edits = planInstall(editor, changes);
      show(editor, changes, edits, 'Nothing to change');
      if (options.dryRun) return;
      for (const { file } of edits) checkWritable(file);
      const identity = options.key === false ? null : await makeIdentity(env, setting, editor);
      for (const edit of edits) writeEdit(setting, editor, changes, edit);
      if (identity) say(identity);
      if (edits.length > 0) say(afterwards(editor));
    });
  });

export const uninstall = (env: NodeJS.ProcessEnv, names: string[], options: InstallOptions): Promise<number> =>
  told(async () => {
    const setting = settingOf(env, options.project === true);
    const installed = readEditors(setting.config.home);
    const chosen = choose(names, (editor) => editor.name in installed || isFound(editor, setting.place));
    return each(chosen, setting, async (editor, changes) => {
      const edits = planUninstall(editor, changes, installed[editor.name]?.files ?? {});
      show(editor, changes, edits, 'Nothing to remove');
      if (options.dryRun) return;
      const changed = edits.filter(({ before, after }) => before !== after);
      for (const { file } of changed) checkWritable(file);
      for (const edit of changed) undo(setting, editor, edit);
      const forgotten = await forget(env, setting, editor, changes, options.key !== false);
      if (forgotten) say(forgotten);
    });
  });

function choose(names: string[], isMeantByAll: (editor: Editor) => boolean): Editor[] {
  if (names.includes('all')) return editors.filter(isMeantByAll);
  return names.map((name) => {
    const editor = editorNamed(name);
    if (editor) return editor;
    throw new Unusable(`${name}: one of ${editors.map((one) => one.name).join(', ')}, all`);
  });
}

/** Goes on with the next editor where the settings of one can't be read or written. */
async function each(
  chosen: Editor[],
  { place, launch }: Setting,
  work: (editor: Editor, changes: Change[]) => void | Promise<void>,
): Promise<number> {
  let failed = 0;
  for (const editor of chosen) {
    const changes = editor.changes(place, launch);
    try {
      if (changes === null) say(`${editor.title}: it has no settings of a project.`);
      else await work(editor, changes);
    } catch (error) {
      if (!(error instanceof SettingsProblem)) throw error;
      failed += 1;
      process.stderr.write(`${editor.title}: ${error.message}. That file was left as it is.\n`);
    }
  }
  return failed === 0 ? 0 : 1;
}

// Values of keys that stand beside ours in a file. A terminal is often recorded, and its text pasted.
const SECRETS =
  /((?:["']?[\w.-]*(?:key|token|secret|passw|credential|authorization)[\w.-]*["']?)\s*[:=]\s*)("(?:[^"\\]|\\.)*"|'[^']*')/gi;
const masked = (patch: string) => patch.replace(SECRETS, '$1"…"').replace(/\b(Bearer|Basic) [^\s"']+/g, '$1 …');

function show(editor: Editor, changes: Change[], edits: FileEdit[], otherwise: string): void {
  const changed = edits.filter(({ before, after }) => before !== after);
  if (changed.length === 0) say(`${editor.title}: ${otherwise}.`);
  for (const { file, before, after } of changed) {
    const isWholeFile = changes.some((change) => change.kind === 'text' && change.file === file);
    if (isWholeFile && (before === null || after === null)) {
      say(`${before === null ? `+++ ${file}: new, ${after?.split('\n').length} lines` : `--- ${file}: removed`}`);
      continue;
    }
    const [from, to] = [before === null ? '/dev/null' : file, after === null ? '/dev/null' : file];
    const patch = createTwoFilesPatch(from, to, before ?? '', after ?? '', '', '', { context: 2 });
    say(visible(masked(patch.slice(patch.indexOf('--- ')))).trimEnd());
  }
  for (const { file, notice } of edits) if (notice) say(`${file}: ${notice}.`);
}

/** What a person writes into the settings by hand. */
function print(editor: Editor, changes: Change[]): void {
  for (const { file, text } of entriesOf(editor, changes)) say(`# ${file}\n${text}`);
}

async function makeIdentity(env: NodeJS.ProcessEnv, { config }: Setting, editor: Editor): Promise<string> {
  const installed = readEditors(config.home);
  const known = installed[editor.name];
  try {
    const identity = await identify(config, env, editor, known);
    if (identity === known) return '';
    writeEditors(config.home, { ...installed, [editor.name]: { files: {}, ...known, ...identity } });
    return `${editor.title} is the caller ${identity.caller}, by the key ${identity.keyId}; \`l9-memory keys revoke ${identity.keyId}\` ends it.`;
  } catch (error) {
    return `No key was made for ${editor.title} (${reasonOf(error)}), so it acts as C until \`l9-memory install ${editor.name}\` can make one.`;
  }
}

function writeEdit({ config, place }: Setting, editor: Editor, changes: Change[], edit: FileEdit): void {
  const { file, before, after } = edit;
  const installed = readEditors(config.home);
  const entry: InstalledEditor = installed[editor.name] ?? { caller: editor.actor.caller, files: {} };
  const former = entry.files[file];
  const record = recordOf(edit, changes, former);
  // Where nobody else changed the file since, the backup of the first install stays the one to go back to.
  const backup = before !== null && record.before !== former?.before ? writeBackup(file, before) : null;
  const folders = writeSettings(file, after ?? '', { isPrivate: place.project === null });
  const files = { ...entry.files, [file]: { ...record, folders: [...folders, ...record.folders] } };
  writeEditors(config.home, { ...installed, [editor.name]: { ...entry, files } });
  say(`wrote ${file}${backup === null ? '' : ` (as it was: ${backup})`}`);
}

function undo({ config }: Setting, editor: Editor, { file, after }: FileEdit): void {
  const record = readEditors(config.home)[editor.name]?.files[file];
  if (after === null) removeSettings(file, record?.folders ?? []);
  else writeSettings(file, after, { isPrivate: true });
  say(`${after === null ? 'removed' : 'wrote'} ${file}`);
}

/** Takes the files off the record, and with the last of them the key, which is revoked. */
async function forget(
  env: NodeJS.ProcessEnv,
  { config }: Setting,
  editor: Editor,
  changes: Change[],
  revokesKey: boolean,
): Promise<string> {
  const { [editor.name]: entry, ...others } = readEditors(config.home);
  if (!entry) return '';
  const undone = new Set(changes.map(({ file }) => file));
  // Those of files that somebody has deleted or put right by hand are of no more use, either.
  for (const file of Object.keys(entry.files)) if (undone.has(file)) removeBackup(file);
  const files = Object.fromEntries(Object.entries(entry.files).filter(([file]) => !undone.has(file)));
  if (Object.keys(files).length > 0) {
    writeEditors(config.home, { ...others, [editor.name]: { ...entry, files } });
    return '';
  }
  writeEditors(config.home, others);
  if (!entry.keyId || !revokesKey) return '';
  try {
    await revoke(config, env, entry.keyId);
    return `The key of ${editor.title} is revoked.`;
  } catch (error) {
    return `The key of ${editor.title} was not revoked (${reasonOf(error)}): \`l9-memory keys revoke ${entry.keyId}\``;
  }
}

const afterwards = ({ title, name }: Editor) =>
  `${title} is set up: start it again to use it.${
    isByNpx ? ' Its hooks are faster with `npm i -g l9-memory`, and this command once more.' : ''
  }${name === 'codex' ? ' It asks once whether you trust the hooks.' : ''}`;
