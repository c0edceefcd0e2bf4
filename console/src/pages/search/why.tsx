// How a hit came to its score: a bar for each part.
import { Json } from '../../components/fields-view.tsx';
import { formatNumber } from '../../lib/format.ts';
import { present } from '../../lib/me.ts';
import type { Hit } from './query.ts';

interface Explanation {
  found_by?: string[];
  fused?: number | null;
  graph?: unknown;
  lexical?: { content: number | null; context: number | null; trust?: number | null } | null;
  semantic?: { content: number | null; context: number | null } | null;
  weights?: { lexical: number; semantic: number } | null;
  boosts?: { factor: number; recency: number; importance: number } | null;
  conversation?: { lifted: number | null; thread: number | null; neighbour: number | null; speaker: boolean } | null;
}

interface Part {
  name: string;
  /** How long its bar is, from 0 to 1. */
  length: number;
  series: number;
  says: string;
}

const RETRIEVERS: Readonly<Record<string, string>> = {
  'lexical content': 'words',
  'semantic content': 'meaning',
  'lexical context': 'words, together with the memory before it',
  'semantic context': 'meaning, together with the memory before it',
};

const number = (value: number) => formatNumber(value);
const added = (value: number) => `+ ${number(value)}`;

/** What each part adds to the score: a weight times a value, then what stands around the memory lifts it, then age and importance. */
export function partsOf({ lexical, semantic, weights, fused, conversation, boosts }: Explanation): Part[] {
  const words = lexical?.content ?? 0;
  const meaning = Math.max(semantic?.content ?? 0, 0);
  const { lexical: ofWords = 0, semantic: ofMeaning = 0 } = weights ?? {};
  // Both weigh as parts of their sum.
  const sum = ofWords + ofMeaning || 1;
  const trust = lexical?.trust ?? 1;
  const fromWords = (words * trust * ofWords) / sum;
  const fromMeaning = (meaning * ofMeaning) / sum;
  const hasContext = lexical?.context != null || semantic?.context != null;
  const fromContext = hasContext ? Math.max((fused ?? 0) - fromWords - fromMeaning, 0) : 0;
  const fromThread = Math.max((conversation?.lifted ?? fused ?? 0) - (fused ?? 0), 0);
  const none = 'not found by it';
  return [
    {
      name: 'Words',
      length: fromWords,
      series: 1,
      says:
        lexical?.content == null
          ? none
          : `${number(words)} × ${number(ofWords / sum)}${trust < 1 ? ` × ${number(trust)}, since few words match` : ''}`,
    },
    {
      name: 'Meaning',
      length: fromMeaning,
      series: 2,
      says: semantic?.content == null ? none : `${number(meaning)} × ${number(ofMeaning / sum)}`,
    },
    { name: 'Context', length: fromContext, series: 3, says: hasContext ? added(fromContext) : 'no memory before it' },
    {
      name: 'Thread',
      length: fromThread,
      series: 4,
      says: conversation?.speaker ? `${added(fromThread)}, its speaker is named` : added(fromThread),
    },
    ...(boosts
      ? [
          { name: 'Recency', length: boosts.recency, series: 5, says: number(boosts.recency) },
          { name: 'Importance', length: boosts.importance, series: 6, says: number(boosts.importance) },
        ]
      : []),
  ];
}

export function Why({ hit }: { hit: Hit }) {
  const explanation: Explanation = hit.explanation ?? {};
  const { boosts, graph, found_by: foundBy } = explanation;
  return (
    <div class="why">
      <dl class="bars" aria-label="Parts of the score">
        {partsOf(explanation).map(({ name, length, series, says }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <span class="bar" aria-hidden="true">
                <span class={`bar-fill series-${series}`} style={{ width: `${Math.min(length, 1) * 100}%` }} />
              </span>
              <span class="says">{says}</span>
            </dd>
          </div>
        ))}
        <div class="total">
          <dt>Score</dt>
          <dd>
            <span class="bar" aria-hidden="true">
              <span class="bar-fill" style={{ width: `${hit.score * 100}%` }} />
            </span>
            <span class="says">
              {number(hit.score)}
              {boosts && <span class="muted">, age and importance: × {number(boosts.factor)}</span>}
            </span>
          </dd>
        </div>
      </dl>
      <p class="muted">
        Found by{' '}
        {present(foundBy)
          .map((retriever) => RETRIEVERS[retriever] ?? retriever)
          .join(', ') || 'its filters'}
        .{hit.relevance !== null && ` Likely to have to do with the question: ${Math.round(hit.relevance * 100)} %.`}
      </p>
      {graph !== null && graph !== undefined && <Json value={graph} />}
    </div>
  );
}
