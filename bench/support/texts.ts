// Texts of artificial words by Zipf's law. Each memory has a topic, whose words it contains more often.
import { below, randomFrom } from './random.ts';

export const TOPICS = 200;
export const SUBTOPICS = 50;
const VOCABULARY = 50_000;
const TOPIC_WORDS = 12;
const CONSONANTS = 'bdfgklmnprstvz';
const VOWELS = 'aeiou';

/** The word of a rank. Frequent words are short, as in natural languages. */
function spell(rank: number): string {
  let word = '';
  let rest = rank + 70;
  while (rest > 0) {
    const syllable = rest % 70;
    word += CONSONANTS[syllable % 14]! + VOWELS[Math.floor(syllable / 14)]!;
    rest = Math.floor(rest / 70);
  }
  return word;
}

const words = Array.from({ length: VOCABULARY }, (_, rank) => spell(rank));

/** The most frequent words. */
export const commonWords = words.slice(0, 40);

/** A random rank with an evenly distributed logarithm, which gives Zipf's law. */
const zipfWord = (random: () => number) => words[Math.floor(VOCABULARY ** random()) - 1] ?? words[0]!;

const topicWord = (random: () => number, topic: number) =>
  words[1_000 + ((topic * 97 + below(random, TOPIC_WORDS) * 389) % (VOCABULARY - 1_000))]!;

/** 1 to 2 kB. */
export function memoryText(seed: number, topic: number): string {
  const random = randomFrom(seed);
  const length = 1_000 + below(random, 1_000);
  let text = '';
  while (text.length < length) {
    const sentence: string[] = [];
    for (let left = 6 + below(random, 12); left > 0; left--) {
      sentence.push(random() < 0.08 ? topicWord(random, topic) : zipfWord(random));
    }
    text += `${text ? ' ' : ''}${sentence.join(' ')}.`;
  }
  return text;
}

/** A query of a few words: some of the topic, some by Zipf's law. */
export function queryText(seed: number, topic: number): string {
  const random = randomFrom(seed);
  return [zipfWord(random), topicWord(random, topic), zipfWord(random), topicWord(random, topic)].join(' ');
}

/** Three words, one of which most memories contain. */
export function commonQuery(seed: number): string {
  const random = randomFrom(seed);
  return Array.from({ length: 3 }, () => commonWords[below(random, commonWords.length)]!).join(' ');
}
