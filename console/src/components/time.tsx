import { formatAge, formatTime } from '../lib/format.ts';

/** How long ago, with the exact time when it is pointed at. `isExact` shows that one instead. */
export function Time({ at, isExact = false }: { at: string | null | undefined; isExact?: boolean }) {
  if (!at) return <span class="none">–</span>;
  return (
    <time class="time" dateTime={at} title={formatTime(at)}>
      {isExact ? formatTime(at) : formatAge(at)}
    </time>
  );
}
