// What an install or uninstall changes in the files of an editor, before anything is written.
import { isDeepStrictEqual } from 'node:util';
import type { ChangedFile } from '../home/editors.ts';
import { type Change, type Editor, isOurHook } from './editor.ts';
import { checkPath, isFields, readJson, valueAt, withItem, withoutEmpty, withoutValue, withValue } from './json.ts';
import { SettingsProblem } from './problem.ts';
import { hashOf, readBackup, readSettings } from './settings-file.ts';
import { hasTable, readToml, withoutBlock, withTable } from './toml.ts';

export interface FileEdit {
  file: string;
  before: string | null;
  /** Null: the file is removed. */
  after: string | null;
  /** What is left as it is, and why. */
  notice?: string;
}

const BOM = '\uFEFF';

/** Runs `change` on the text without the mark that some Windows programs write at its beginning. */
function withoutMark(text: string, change: (text: string) => string): string {
  return text.startsWith(BOM) ? BOM + change(text.slice(1)) : change(text);
}

function byFile(changes: readonly Change[]): Map<string, Change[]> {
  const files = new Map<string, Change[]>();
  for (const change of changes) files.set(change.file, [...(files.get(change.file) ?? []), change]);
  return files;
}

/** The files that an install changes. Those that are as they should be are left out. */
export function planInstall(editor: Editor, changes: readonly Change[]): FileEdit[] {
  return [...byFile(changes)].flatMap(([file, ofFile]) => {
    const before = readSettings(file);
    const after = withoutMark(before ?? '', (text) => ofFile.reduce((at, change) => apply(editor, change, at), text));
    return after === before ? [] : [{ file, before, after }];
  });
}

/** The files as an install would make them where there are none. */
export const entriesOf = (editor: Editor, changes: readonly Change[]): { file: string; text: string }[] =>
  [...byFile(changes)].map(([file, ofFile]) => ({
    file,
    text: ofFile.reduce((text, change) => apply(editor, change, text), ''),
  }));

/** Whether all of an editor's entries are there as an install would write them, some of them, or none. */
export function stateOf(editor: Editor, changes: readonly Change[]): 'whole' | 'partly' | 'none' {
  if (planInstall(editor, changes).length === 0) return 'whole';
  const isThere = [...byFile(changes)].some(([file, ofFile]) => {
    const text = readSettings(file);
    return text !== null && ofFile.some((change) => isPresent(editor, change, text.replace(BOM, '')));
  });
  return isThere ? 'partly' : 'none';
}

function isPresent(editor: Editor, change: Change, text: string): boolean {
  if (change.kind === 'text') return true;
  if (change.kind === 'table') return hasTable(readToml(change.file, text), change.table);
  const value = valueAt(readJson(change.file, text), change.path);
  if (change.kind === 'value') return !change.isDefault && value !== undefined;
  return Array.isArray(value) && value.some((item) => isOurHook(item, editor.name));
}

function apply(editor: Editor, change: Change, text: string): string {
  switch (change.kind) {
    case 'text':
      return change.text;
    case 'table': {
      const at = change.table.reduce<unknown>((inner, name) => valueAt(inner, [name]), readToml(change.file, text));
      const isOurs = withoutBlock(text) !== text;
      return isOurs && isDeepStrictEqual(plain(at), change.value)
        ? text
        : withTable(change.file, text, change.table, change.value);
    }
    case 'value': {
      const { file, path, value, isDefault } = change;
      checkPath(file, text, path.slice(0, -1), 'object');
      const present = valueAt(readJson(file, text), path);
      if (isDefault ? present !== undefined : isDeepStrictEqual(present, value)) return text;
      return checked(file, withValue(text, path, value), (root) => isDeepStrictEqual(valueAt(root, path), value));
    }
    case 'item': {
      const { file, path, value } = change;
      checkPath(file, text, path, 'list');
      const isThere = (root: unknown) => {
        const list = valueAt(root, path);
        return Array.isArray(list) && list.some((item) => isDeepStrictEqual(withoutOptions(item, value), value));
      };
      const [first, ...others] = ourItems(editor, text, change);
      if (first === undefined) return checked(file, withItem(text, path, value), isThere);
      const once = others.toReversed().reduce((at, index) => withoutValue(at, [...path, index]), text);
      const present = valueAt(readJson(file, once), [...path, first]);
      const isSame = isDeepStrictEqual(withoutOptions(present, value), value);
      return checked(file, isSame ? once : withValue(once, [...path, first], value), isThere);
    }
  }
}

/** Where a key stands twice in an object, editors read the last of them, and a change goes to the first. */
function checked(file: string, text: string, isDone: (root: unknown) => boolean): string {
  if (isDone(readJson(file, text))) return text;
  throw new SettingsProblem(file, 'one of its objects has the same key twice');
}

/** An item whose commands are those wanted, without the options that a user added to them. */
function withoutOptions(item: unknown, wanted: unknown): unknown {
  if (typeof item === 'string' && typeof wanted === 'string') return item.startsWith(`${wanted} `) ? wanted : item;
  if (Array.isArray(item) && Array.isArray(wanted)) return item.map((one, index) => withoutOptions(one, wanted[index]));
  if (!isFields(item) || !isFields(wanted)) return item;
  return Object.fromEntries(Object.entries(item).map(([key, one]) => [key, withoutOptions(one, wanted[key])]));
}

/** smol-toml makes objects without a prototype. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null));

function ourItems(editor: Editor, text: string, { file, path }: Change & { kind: 'item' }): number[] {
  const list = valueAt(readJson(file, text), path);
  if (!Array.isArray(list)) return [];
  return list.flatMap((item, index) => (isOurHook(item, editor.name) ? [index] : []));
}

/** What an install puts on record of a file that it is about to change. */
export function recordOf(edit: FileEdit, changes: readonly Change[], former: ChangedFile | undefined): ChangedFile {
  const { file, before, after } = edit;
  const isUntouched = former !== undefined && before !== null && hashOf(before) === former.after;
  const record = { folders: former?.folders ?? [], after: hashOf(after ?? '') };
  if (former && isUntouched) return { ...former, ...record };
  if (former)
    return { ...former, ...record, before: before === null ? null : hashOf(before), isExact: before === null };
  const inJson = changes.filter((change) => change.file === file && 'path' in change);
  const root = inJson.length > 0 ? readJson(file, (before ?? '').replace(BOM, '')) : {};
  const replaced: Record<string, unknown> = {};
  const had: string[] = [];
  for (const change of inJson) {
    if (!('path' in change)) continue;
    const value = valueAt(root, change.path);
    if (change.kind === 'value' && !change.isDefault && value !== undefined) replaced[keyOf(change.path)] = value;
    for (let length = 1; length <= change.path.length; length++)
      if (valueAt(root, change.path.slice(0, length)) !== undefined) had.push(keyOf(change.path.slice(0, length)));
  }
  return {
    before: before === null ? null : hashOf(before),
    isExact: true,
    replaced,
    had: [...new Set(had)],
    ...record,
  };
}

const keyOf = (path: readonly string[]) => JSON.stringify(path);

/** The files that an uninstall changes: each gets its former bytes where nobody else changed it, and otherwise loses our entries. */
export function planUninstall(
  editor: Editor,
  changes: readonly Change[],
  records: Record<string, ChangedFile>,
): FileEdit[] {
  return [...byFile(changes)].flatMap(([file, ofFile]): FileEdit[] => {
    const before = readSettings(file);
    if (before === null) return [];
    const record = records[file];
    const former = record ? formerText(file, before, record) : undefined;
    if (former !== undefined) return [{ file, before, after: former }];
    const edit = withoutOurs(editor, ofFile, before, record);
    return edit.after === before && !edit.notice ? [] : [edit];
  });
}

/** The text that the file had; undefined if it was changed since, or if its backup is gone. */
function formerText(file: string, text: string, record: ChangedFile): string | null | undefined {
  if (!record.isExact || hashOf(text) !== record.after) return undefined;
  if (record.before === null) return null;
  const backup = readBackup(file);
  return backup !== null && hashOf(backup) === record.before ? backup : undefined;
}

function withoutOurs(editor: Editor, changes: Change[], before: string, record: ChangedFile | undefined): FileEdit {
  const { file } = changes[0]!;
  const [only] = changes;
  if (only?.kind === 'text') {
    const isOurs = before === only.text || hashOf(before) === record?.after;
    return {
      file,
      before,
      after: isOurs ? null : before,
      ...(!isOurs && { notice: 'somebody changed it, so it stays' }),
    };
  }
  const after = withoutMark(before, (text) => changes.reduce((at, change) => remove(editor, change, at, record), text));
  return { file, before, after: isLeftOver(changes, after.replace(BOM, ''), record) ? null : after };
}

function remove(editor: Editor, change: Change, text: string, record: ChangedFile | undefined): string {
  const stays = (path: string[]) => record?.had.includes(keyOf(path)) ?? false;
  switch (change.kind) {
    case 'table':
      readToml(change.file, text);
      return withoutBlock(text);
    case 'value': {
      const { path } = change;
      if (change.isDefault || valueAt(readJson(change.file, text), path) === undefined) return text;
      const former = record?.replaced[keyOf(path)];
      if (former !== undefined) return withValue(text, path, former);
      return withoutEmpty(withoutValue(text, path), path.slice(0, -1), stays);
    }
    case 'item': {
      const ours = ourItems(editor, text, change);
      const others = ours.toReversed().reduce((at, index) => withoutValue(at, [...change.path, index]), text);
      return ours.length > 0 ? withoutEmpty(others, change.path, stays) : text;
    }
    case 'text':
      throw new SettingsProblem(change.file, 'its contents are not known');
  }
}

/** Whether a file that an install made holds nothing any more but what an install put there by default. */
function isLeftOver(changes: Change[], text: string, record: ChangedFile | undefined): boolean {
  if (record?.before !== null) return false;
  if (changes.some(({ kind }) => kind === 'table')) return text.trim() === '';
  const defaults = changes.flatMap((change) => (change.kind === 'value' && change.isDefault ? [change.path[0]] : []));
  const root = readJson(changes[0]!.file, text);
  return isFields(root) && Object.keys(root).every((name) => defaults.includes(name));
}
