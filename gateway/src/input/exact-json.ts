// Numbers of JSON that a double can't hold, such as 9007199254740993, which JSON.parse would change without a word. Each is
// replaced by a mark before it is parsed, and the check of the input refuses the mark with the name of its field.

/** What stands in the place of such a number: no text that is accepted, because it holds the character NUL. */
export const INEXACT_NUMBER = '\0a number that is not kept exactly';

export const INEXACT_REASON = 'has more digits than a number keeps (about 15 digits, up to 2^53): send it as a text';

// Longer ones are refused without a look.
const MAX_NUMBER_LENGTH = 400;

/** Sign, digits and exponent of a number, in one form for each value. */
function normalised(source: string): string | null {
  const parts = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source);
  if (!parts) return null;
  const [, sign, whole, fraction = '', exponent = '0'] = parts;
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return '0';
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}

/** True if a double holds exactly the number that this text of JSON or GraphQL writes. */
export function isExactNumber(source: string): boolean {
  if (source.length > MAX_NUMBER_LENGTH) return false;
  return normalised(source) === normalised(String(Number(source)));
}

// Fewer digits are always exact, as are smaller exponents.
const MAY_BE_INEXACT = /\d[\d.]{15}|\d[eE][+-]?\d{3}/;
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** The text of JSON with a mark in place of each number that a double can't hold. */
export function markInexactNumbers(json: string): string {
  if (!MAY_BE_INEXACT.test(json)) return json;
  const parts: string[] = [];
  let taken = 0;
  for (let at = 0; at < json.length; ) {
    const character = json[at]!;
    if (character === '"') {
      at = endOfText(json, at);
      continue;
    }
    NUMBER.lastIndex = at;
    const number = character === '-' || (character >= '0' && character <= '9') ? NUMBER.exec(json)?.[0] : undefined;
    if (number !== undefined && !isExactNumber(number)) {
      parts.push(json.slice(taken, at), JSON.stringify(INEXACT_NUMBER));
      taken = at + number.length;
    }
    at += number?.length ?? 1;
  }
  return parts.length > 0 ? parts.join('') + json.slice(taken) : json;
}

/** The place behind the text that begins here. */
function endOfText(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); end >= 0; end = json.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (json[end - 1 - backslashes] === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return end + 1;
  }
  return json.length;
}
