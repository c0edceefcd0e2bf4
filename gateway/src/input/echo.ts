// Names that callers choose, as an error may repeat them: a misspelled name helps, but a key that was pasted in its place must not
// get into a log or a transcript. The patterns of the database can't be asked here, since a request is refused before it gets there.

const MAX_RUN_OF_DIGITS = 4;
/** As in secrets.is_random(): random texts change between capitals, small letters and digits at least so often for each character. */
const RANDOM_CHANGES = 0.38;
const MIN_RANDOM_LENGTH = 16;

/** Whether it looks like a name that a person gave: short, with no more than one number, and no random letters. */
export function isPlainName(name: string): boolean {
  if (!/^[A-Za-z_][A-Za-z0-9_.]{0,39}$/.test(name)) return false;
  const numbers = name.match(/\d+/g) ?? [];
  if (numbers.length > 1 || (numbers[0]?.length ?? 0) > MAX_RUN_OF_DIGITS) return false;
  const changes = name.match(/[a-z](?=[A-Z0-9])|[A-Z](?=[a-z0-9])|\d(?=[A-Za-z])/g)?.length ?? 0;
  // A long word is several words of small letters, or an abbreviation.
  const isReadable = (word: string) =>
    word.length <= 12 || /^[A-Z]{0,4}[a-z]+(?:[A-Z]{1,4}[a-z]+)*\d*$|^[A-Z]{1,16}$/.test(word);
  if (!name.split(/[_.]/).every(isReadable)) return false;
  return name.length < MIN_RANDOM_LENGTH || changes < RANDOM_CHANGES * name.length;
}

/** The name if it is plain, else what takes its place. */
export const shownName = (name: string, otherwise: string): string => (isPlainName(name) ? name : otherwise);

/** A path of fields, in which keys that callers chose may stand. */
export const shownPath = (path: readonly PropertyKey[]): string =>
  path.map((step) => (typeof step === 'number' ? String(step) : shownName(String(step), '*'))).join('.');

/** An error text of a parser, which quotes names and values of the request: without those that are no plain names. */
export function withoutValues(message: string): string {
  return (
    message
      .replaceAll(/ ?"((?:[^"\\]|\\.)*)"/g, (quoted, value: string) =>
        /^(?:\W{1,3}|-?[\d.]{1,12})$/.test(value) || isPlainName(value.replaceAll(/^[$@]|[[\]!()?:]/g, ''))
          ? quoted
          : '',
      )
      // Objects are written out without quotes around their keys.
      .replaceAll(/[A-Za-z0-9_+/=~-]{12,}/g, (word) =>
        isPlainName(word) || /^[A-Za-z]+(?:-[a-z]+)+$/.test(word) ? word : '…',
      )
  );
}
