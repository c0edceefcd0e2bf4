// The hits of the present settings beside those of the changed ones.
import { Link } from 'wouter-preact';
import { formatNumber } from '../../lib/format.ts';

export interface Hit {
  packetId: string;
  text: string;
  score: number | null;
}

export interface Tried {
  query: string;
  before: readonly Hit[];
  after: readonly Hit[];
}

export function Compared({ tried: { query, before, after } }: { tried: Tried }) {
  const placeIn = (hits: readonly Hit[], id: string) => hits.findIndex(({ packetId }) => packetId === id);
  return (
    <div class="compared-hits">
      {(
        [
          ['Now', before, after],
          ['Changed', after, before],
        ] as const
      ).map(([title, hits, others]) => (
        <section key={title} class="panel" aria-label={`${title}: ${query}`}>
          <h3>{title}</h3>
          {hits.length === 0 && <p class="muted">Nothing is found.</p>}
          <ol>
            {hits.map((hit, place) => {
              const other = placeIn(others, hit.packetId);
              const moved =
                other < 0
                  ? 'only here'
                  : other === place
                    ? ''
                    : other > place
                      ? `▲ ${other - place}`
                      : `▼ ${place - other}`;
              return (
                <li key={hit.packetId}>
                  <Link href={`/memories/${hit.packetId}`}>{hit.text}</Link>{' '}
                  <span class="muted">
                    {hit.score !== null && formatNumber(hit.score)} {title === 'Changed' && moved}
                  </span>
                </li>
              );
            })}
          </ol>
        </section>
      ))}
    </div>
  );
}
