// What changed between two texts, word by word.
import { diffWordsWithSpace } from 'diff';
import { useMemo } from 'preact/hooks';

/** Beyond this a comparison of words would hold up the page. */
const MAX_LENGTH = 20_000;

export function Diff({ from, to }: { from: string; to: string }) {
  const parts = useMemo(
    () =>
      from.length + to.length > MAX_LENGTH
        ? [
            { value: from, removed: true, added: false },
            { value: to, removed: false, added: true },
          ]
        : diffWordsWithSpace(from, to),
    [from, to],
  );
  return (
    <p class="diff text">
      {parts.map(({ value, added, removed }, index) => {
        if (added) return <ins key={index}>{value}</ins>;
        if (removed) return <del key={index}>{value}</del>;
        return <span key={index}>{value}</span>;
      })}
    </p>
  );
}
