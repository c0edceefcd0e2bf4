// What commands print: tables and colours for a person at a terminal, lines of JSON for scripts, and texts of memories that can
// change neither the line nor the terminal.
import { styleText } from 'node:util';
import Table from 'cli-table3';
import widthOf from 'string-width';
import { recalled } from '../../operations/recalled.ts';
import { type Client, type ClientOptions, connect, told } from './client.ts';

export interface OutputOptions extends ClientOptions {
  json?: boolean;
}

type Style = Parameters<typeof styleText>[0];

/** Text in a colour, where the stream that it is for is a terminal and NO_COLOR is not set. */
export const styled = (style: Style, text: string, stream: NodeJS.WriteStream = process.stdout): string =>
  styleText(style, text, { stream });

/** An instant as the minute in UTC. */
export const minuteOf = (instant: string): string => new Date(instant).toISOString().slice(0, 16).replace('T', ' ');

// Control characters but the end of a line and the tab, and characters that turn or hide their neighbours on a screen.
const UNSEEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not reach a terminal
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]|[\u{e0000}-\u{e007f}]/gu;

/** A text of several lines, in which every character that acts on a terminal is written as its code point. */
export const visible = (text: string): string =>
  text.replaceAll('\r\n', '\n').replace(UNSEEN, (one) => `\\u{${one.codePointAt(0)!.toString(16)}}`);

const letters = new Intl.Segmenter();

/** A text in one line of at most so many columns of a terminal, without quotes around it. */
export function preview(text: string, columns: number): string {
  const line = recalled(text.replace(/\s+/g, ' ').trim()).slice(1, -1).replaceAll('\\"', '"');
  let width = 0;
  let fitting = 0;
  for (const { segment, index } of letters.segment(line)) {
    if (width < columns) fitting = index;
    width += widthOf(segment);
    if (width > columns) return `${line.slice(0, fitting)}…`;
  }
  return line;
}

/** Rows in columns, below a heading. */
export function table(head: string[], rows: string[][]): string {
  const none = {
    ...{ top: '', 'top-mid': '', 'top-left': '', 'top-right': '', bottom: '', 'bottom-mid': '', 'bottom-left': '' },
    ...{
      'bottom-right': '',
      left: '',
      'left-mid': '',
      mid: '',
      'mid-mid': '',
      right: '',
      'right-mid': '',
      middle: '  ',
    },
  };
  const drawn = new Table({
    head: head.map((one) => styled('dim', one)),
    chars: none,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  drawn.push(...rows);
  return `${drawn
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')}\n`;
}

/** How many columns of a text fit beside so many others. */
export const roomBeside = (taken: number): number => (process.stdout.columns ?? 160) - taken;

/** The least room for a text that is shown in part. */
export const LEAST_ROOM = 30;

/** How many columns the widest of these texts takes. */
export const widest = (texts: readonly string[]): number =>
  texts.reduce((most, text) => Math.max(most, widthOf(text)), 0);

/** One line of JSON for each. */
export const jsonLines = (rows: readonly unknown[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');

/** Runs a command that asks the server and prints what `work` returns. */
export const answered = (
  env: NodeJS.ProcessEnv,
  options: ClientOptions,
  work: (client: Client) => Promise<string>,
): Promise<number> =>
  told(async () => {
    process.stdout.write(await work(await connect(env, options)));
    return 0;
  });
