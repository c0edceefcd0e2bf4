// A table in a TOML file, as a block between two comments: what the user wrote keeps its bytes.
import { parse, stringify, TomlError } from 'smol-toml';
import { isFields } from './json.ts';
import { SettingsProblem } from './problem.ts';

const BEGIN = '# >>> l9-memory: `l9-memory uninstall` removes this block';
const END = '# <<< l9-memory';

/** The text without the block, with the line ends and the end of file that it had. */
export function withoutBlock(text: string): string {
  const block = blockIn(text);
  return block === null ? text : text.slice(0, block.from) + text.slice(block.to);
}

/** The text with the table in a block, in the place of the former block or at the end. */
export function withTable(file: string, text: string, table: string[], value: Record<string, unknown>): string {
  readToml(file, text);
  const others = withoutBlock(text);
  if (hasTable(readToml(file, others), table))
    throw new SettingsProblem(file, `it has a table ${table.join('.')} of its own, which must be removed first`);
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const nested = table.reduceRight<Record<string, unknown>>((inner, name) => ({ [name]: inner }), value);
  const lines = [BEGIN, ...stringify(nested).trim().split('\n'), END];
  const block = blockIn(text);
  const before = block === null ? text : text.slice(0, block.from);
  const after = block === null ? '' : text.slice(block.to);
  const gap = before === '' || before.endsWith(`${eol}${eol}`) ? '' : before.endsWith(eol) ? eol : `${eol}${eol}`;
  const changed = `${before}${gap}${lines.join(eol)}${eol}${after}`;
  // The table can't be added where the user wrote its parent as an inline table.
  readToml(file, changed, 'with the table of l9-memory it would not be valid TOML');
  return changed;
}

export function hasTable(root: unknown, table: string[]): boolean {
  const value = table.reduce<unknown>((at, name) => (isFields(at) ? at[name] : undefined), root);
  return value !== undefined;
}

export function readToml(file: string, text: string, otherwise = 'it is not valid TOML'): Record<string, unknown> {
  try {
    return parse(text) as Record<string, unknown>;
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    throw new SettingsProblem(file, `line ${error.line}: ${otherwise} (${error.message.split('\n')[0]})`);
  }
}

/** The block with the empty line before it and the line end after it. */
function blockIn(text: string): { from: number; to: number } | null {
  const begin = text.indexOf(BEGIN);
  const end = text.indexOf(END, begin);
  if (begin < 0 || end < 0) return null;
  const to = end + END.length;
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const from = text.slice(0, begin).endsWith(`${eol}${eol}`) ? begin - eol.length : begin;
  return { from, to: text.startsWith(eol, to) ? to + eol.length : to };
}
