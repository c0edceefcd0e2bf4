import type { Chunk } from './embedder.ts';

export interface ChunkLimits {
  maxTokens: number;
  overlapTokens: number;
}

/** The smallest piece, never cut: a word, or part of an overlong one, with the whitespace after it. */
interface Unit {
  start: number;
  end: number;
  tokens: number;
  /** How well a chunk could end here: one of the values below. */
  rank: number;
}

const WORD_END = 0;
const LINE_END = 1;
const SENTENCE_END = 2;
const PARAGRAPH_END = 3;

// Longer than words of any language that writes spaces: addresses, encoded data, scripts without spaces.
const LONGEST_WORD = 64;

const UNITS_PER_STEP = 200;

const SENTENCE = /[.!?…。！？][)\]"'»”’」』]*$/u;
const SENTENCE_INSIDE = /[。！？.!?…](?=[^。！？.!?…]*$)/u;
const LETTERS_MEET = /^[A-Za-z0-9]{2}$/;
const SEAM_INSIDE = /[^A-Za-z0-9](?=[A-Za-z0-9]*$)/u;

/** Divides a text into overlapping chunks of at most `maxTokens`; [] if it fits in one. */
export function chunkText(text: string, countTokens: (word: string) => number, limits: ChunkLimits): Chunk[] {
  const steps = chunkSteps(text, countTokens, limits);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/**
 * The same in short steps, so that other work can run between them. The result of `countTokens` is summed word by word,
 * which is exact for WordPiece, since it never joins words.
 */
export function* chunkSteps(
  text: string,
  countTokens: (word: string) => number,
  limits: ChunkLimits,
): Generator<void, Chunk[]> {
  const { maxTokens, overlapTokens } = limits;
  // Units must be smaller than the overlap; otherwise the chunks of a text without spaces would not overlap.
  const unitTokens = Math.max(1, Math.min(maxTokens, overlapTokens > 0 ? overlapTokens >> 1 : maxTokens));
  const units = yield* unitsOf(text, countTokens, unitTokens);
  if (units.reduce((sum, unit) => sum + unit.tokens, 0) <= maxTokens) return [];

  const chunks: Chunk[] = [];
  let first = 0;
  let covered = 0; // the number of units that are in a chunk already
  while (covered < units.length) {
    const next = chunkEnd(units, first, covered, maxTokens);
    const start = units[first]!.start;
    const end = units[next - 1]!.end;
    chunks.push({ text: text.slice(start, end), start, end });
    covered = next;
    first = overlapStart(units, first, next, maxTokens, overlapTokens);
  }
  return chunks;
}

/** The end of the chunk that starts at `first`: as long as possible, or the best boundary shortly before that. */
function chunkEnd(units: Unit[], first: number, covered: number, maxTokens: number): number {
  let end = first;
  let tokens = 0;
  let best = -1;
  let bestEnd = first;
  while (end < units.length) {
    const unit = units[end]!;
    // A chunk has at least one new unit, even one that is too large.
    if (tokens + unit.tokens > maxTokens && end > covered) break;
    tokens += unit.tokens;
    end += 1;
    if (end > covered && tokens >= maxTokens * 0.75 && unit.rank >= best) {
      best = unit.rank;
      bestEnd = end;
    }
  }
  return end === units.length || best <= WORD_END ? end : bestEnd;
}

/** The start of the next chunk: it goes back by the overlap, but leaves room for a new unit. */
function overlapStart(units: Unit[], first: number, end: number, maxTokens: number, overlapTokens: number): number {
  const space = Math.min(overlapTokens, maxTokens - (units[end]?.tokens ?? 0));
  let start = end;
  let tokens = 0;
  while (start - 1 > first) {
    tokens += units[start - 1]!.tokens;
    if (tokens > space) break;
    start -= 1;
  }
  return start;
}

function* unitsOf(text: string, countTokens: (word: string) => number, unitTokens: number): Generator<void, Unit[]> {
  const units: Unit[] = [];
  for (const match of text.matchAll(/(\S+)(\s*)/g)) {
    const word = match[1]!;
    let start = match.index;
    for (const piece of pieces(word, countTokens, unitTokens)) {
      if (units.length % UNITS_PER_STEP === 0) yield;
      const end = start + piece.text.length;
      units.push({
        start,
        end,
        tokens: piece.tokens,
        rank: SENTENCE.test(piece.text) ? SENTENCE_END : WORD_END,
      });
      start = end;
    }
    const last = units.at(-1)!;
    const space = match[2]!;
    last.end += space.length;
    if (/\n[^\S\n]*\n/.test(space)) last.rank = PARAGRAPH_END;
    else if (last.rank === WORD_END && space.includes('\n')) last.rank = LINE_END;
  }
  if (units[0]) units[0].start = 0; // whitespace that opens the text
  return units;
}

interface Piece {
  text: string;
  tokens: number;
}

function* pieces(word: string, countTokens: (word: string) => number, unitTokens: number): Generator<Piece> {
  let rest = word;
  let limit = LONGEST_WORD;
  while (rest !== '') {
    const piece = rest.length <= limit ? rest : rest.slice(0, cutWithin(rest, limit));
    const tokens = countTokens(piece);
    if (tokens > unitTokens && canBeCut(piece)) {
      limit = Math.max(1, piece.length >> 1);
      continue;
    }
    // Two halves of one word may need one more token when they are adjacent in a chunk.
    const spare = LETTERS_MEET.test(rest.slice(piece.length - 1, piece.length + 1)) ? 1 : 0;
    yield { text: piece, tokens: Math.min(tokens + spare, Math.max(tokens, unitTokens)) };
    rest = rest.slice(piece.length);
  }
}

/** Where to cut a word longer than `limit`: after a sentence, else after a punctuation mark, else anywhere. */
function cutWithin(word: string, limit: number): number {
  const from = limit - (limit >> 2);
  const tail = word.slice(from, limit);
  const seam = tail.match(SENTENCE_INSIDE) ?? tail.match(SEAM_INSIDE);
  return wholeCharacter(word, seam ? from + seam.index! + seam[0].length : limit);
}

/** Moves a cut out of a surrogate pair. The first character is always kept whole. */
function wholeCharacter(word: string, at: number): number {
  const splits = isHigh(word.charCodeAt(at - 1)) && isLow(word.charCodeAt(at));
  return splits ? (at > 1 ? at - 1 : at + 1) : at;
}

function canBeCut(piece: string): boolean {
  return piece.length > 2 || (piece.length === 2 && !(isHigh(piece.charCodeAt(0)) && isLow(piece.charCodeAt(1))));
}

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;
