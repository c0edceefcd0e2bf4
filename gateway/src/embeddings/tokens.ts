import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';

// Enough for the vocabulary of a large text. The cache is cleared when full, which is cheaper than tracking use.
const CACHED_WORDS = 50_000;
const ASCII = /^[\x21-\x7e]+$/;
// No model reads more of one word than this, and tokenizing a megabyte without a space would take too long.
const LONGEST_READ = 4096;

export async function loadTokens(modelDir: string) {
  const [vocabulary, settings] = await Promise.all(
    ['tokenizer.json', 'tokenizer_config.json'].map(
      async (name): Promise<object> => JSON.parse(await readFile(join(modelDir, name), 'utf8')),
    ),
  );
  const tokenizer = new Tokenizer(vocabulary!, settings!);
  const special = (token: string): number => {
    const id = tokenizer.token_to_id(token);
    if (id === undefined) throw new Error(`the tokenizer has no ${token}`);
    return id;
  };
  const [cls, sep, unknown] = [special('[CLS]'), special('[SEP]'), special('[UNK]')];
  const idsOf = (word: string): number[] => tokenizer.encode(word, { add_special_tokens: false }).ids;
  const counts = new Map<string, number>();
  const vocabularyIds = tokenizer.get_vocab();
  const countAscii = asciiCounter(vocabularyIds.keys());
  const signs = new Set([cls, sep, unknown]);
  for (const [token, id] of vocabularyIds) if (!/[\p{L}\p{N}]/u.test(token)) signs.add(id);

  function countAny(word: string): number {
    const ids = idsOf(word);
    // One [UNK] stands for a word of any length, which other tokenizers would split.
    return ids.includes(unknown) ? Math.max(ids.length, word.length) : ids.length;
  }

  return {
    /** The ids of the first tokens of a text, at most `max` including `[CLS]` and `[SEP]`. */
    encode(text: string, max: number) {
      const ids = [cls];
      for (const [word] of text.matchAll(/\S+/g)) {
        ids.push(...idsOf(word.slice(0, LONGEST_READ)));
        if (ids.length >= max - 1) break;
      }
      return [...ids.slice(0, max - 1), sep];
    },

    /** Whether the model knows anything of a text but signs between what it does not know, such as emoji or Thai. */
    knows: (ids: readonly number[]) => !ids.includes(unknown) || ids.some((id) => !signs.has(id)),

    /** The number of tokens of a word, or slightly more. */
    count(word: string) {
      const cached = counts.get(word);
      if (cached !== undefined) return cached;
      const count = ASCII.test(word) ? countAscii(word) : countAny(word);
      if (counts.size >= CACHED_WORDS) counts.clear();
      counts.set(word, count);
      return count;
    },
  };
}

/** Counts like the tokenizer but faster: the tokenizer takes seconds for a megabyte of encoded data. */
function asciiCounter(vocabulary: Iterable<string>): (word: string) => number {
  const heads = new Set<string>();
  const tails = new Set<string>();
  let longest = 0;
  for (const token of vocabulary) {
    const tail = token.length > 2 && token.startsWith('##');
    (tail ? tails : heads).add(tail ? token.slice(2) : token);
    longest = Math.max(longest, token.length);
  }

  function countRun(run: string): number {
    let count = 0;
    for (let at = 0; at < run.length; count += 1) {
      const tokens = at === 0 ? heads : tails;
      let end = Math.min(run.length, at + longest);
      while (end > at + 1 && !tokens.has(run.slice(at, end))) end -= 1;
      at = end;
    }
    return count;
  }

  return (word) => {
    let count = 0;
    for (const [run] of word.toLowerCase().matchAll(/[a-z0-9]+|[^a-z0-9]/g))
      count += run.length > 1 ? countRun(run) : 1;
    return count;
  };
}
