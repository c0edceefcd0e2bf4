// Changes to a JSON file, with or without comments: all that is not changed keeps its bytes.
import {
  applyEdits,
  findNodeAtLocation,
  type JSONPath,
  type ModificationOptions,
  modify,
  type Node,
  type ParseError,
  parse,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser';
import { lineOf, SettingsProblem } from './problem.ts';

export type Fields = Record<string, unknown>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isBlank = (text: string) => text.trim() === '';

/** The object in a file. An empty file is an empty object; what else is no object is refused with its line. */
export function readJson(file: string, text: string): Fields {
  if (isBlank(text)) return {};
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error)
    throw new SettingsProblem(
      file,
      `line ${lineOf(text, error.offset)}: it is not valid JSON (${printParseErrorCode(error.error)})`,
    );
  if (!isFields(value)) throw new SettingsProblem(file, 'line 1: it must hold a JSON object');
  return value;
}

export const valueAt = (root: unknown, path: JSONPath): unknown =>
  path.reduce<unknown>((at, key) => {
    if (typeof key === 'number') return Array.isArray(at) ? at[key] : undefined;
    return isFields(at) && Object.hasOwn(at, key) ? at[key] : undefined;
  }, root);

/** Refuses a path that leads through something else than objects, which a change would replace. */
export function checkPath(file: string, text: string, path: string[], end: 'object' | 'list'): void {
  const root = readJson(file, text);
  for (let length = 1; length <= path.length; length++) {
    const at = path.slice(0, length);
    const value = valueAt(root, at);
    if (value === undefined) return;
    const isEnd = length === path.length;
    if (isEnd && end === 'list' ? Array.isArray(value) : isFields(value)) continue;
    const line = lineOf(text, Math.max(0, text.indexOf(`"${at.at(-1)}"`)));
    throw new SettingsProblem(
      file,
      `line ${line}: ${at.join('.')} must be ${isEnd && end === 'list' ? 'a list' : 'an object'}`,
    );
  }
}

/** The file with a value, which replaces the one that is there. */
export function withValue(text: string, path: JSONPath, value: unknown): string {
  const base = isBlank(text) ? '{}\n' : text;
  return applyEdits(base, modify(base, path, value, styleFor(base, path)));
}

/** The file without a value. The library cuts wrongly into a list that stands in one line, so items are cut out here. */
export function withoutValue(text: string, path: JSONPath): string {
  const index = path.at(-1);
  const root = parseTree(text, [], { allowTrailingComma: true });
  const items = root && findNodeAtLocation(root, path.slice(0, -1))?.children;
  if (typeof index !== 'number' || !items?.[index]) return withValue(text, path, undefined);
  const endOf = ({ offset, length }: Node) => offset + length;
  const [before, item, after] = [items[index - 1], items[index], items[index + 1]];
  const from = before && !after ? endOf(before) : item.offset;
  const to = after ? after.offset : endOf(item);
  return text.slice(0, from) + text.slice(to);
}

/** The file with another item at the end of a list. */
export function withItem(text: string, path: string[], item: unknown): string {
  const base = isBlank(text) ? '{}\n' : text;
  const list = valueAt(parse(base), path);
  if (!Array.isArray(list)) return withValue(base, path, [item]);
  const at = [...path, list.length];
  return applyEdits(base, modify(base, at, item, { ...styleFor(base, at), isArrayInsertion: true }));
}

/** The file without the empty objects and lists on a path, from its end up to the first that is not empty or that `stays`. */
export function withoutEmpty(text: string, path: string[], stays: (path: string[]) => boolean): string {
  const root: unknown = parse(text, [], { allowTrailingComma: true });
  const value = valueAt(root, path);
  const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0;
  if (path.length === 0 || !isEmpty || stays(path)) return text;
  return withoutEmpty(withoutValue(text, path), path.slice(0, -1), stays);
}

/** The style of the file. What stands in one line stays there: to lay out a part of it would lay out its neighbours, too. */
function styleFor(text: string, path: JSONPath): ModificationOptions {
  const root = parseTree(text, [], { allowTrailingComma: true });
  for (let length = path.length - 1; root && length >= 0; length--) {
    const parent = findNodeAtLocation(root, path.slice(0, length));
    if (!parent) continue;
    const isInOneLine = !text.slice(parent.offset, parent.offset + parent.length).includes('\n');
    if (isInOneLine && (parent.children?.length ?? 0) > 0) return {};
    break;
  }
  const indent = /^([ \t]+)\S/m.exec(text)?.[1] ?? '  ';
  const isByTabs = indent.startsWith('\t');
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  return { formattingOptions: { insertSpaces: !isByTabs, tabSize: isByTabs ? 1 : indent.length, eol } };
}
