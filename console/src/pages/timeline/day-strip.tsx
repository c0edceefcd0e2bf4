// How much happened on each day of eight weeks. A click on a day goes there; the field for the day does it for keyboards.
import { Button } from '../../components/button.tsx';
import { TextField } from '../../components/field.tsx';
import { Failure } from '../../components/states.tsx';
import { useData } from '../../lib/data.ts';
import { formatNumber } from '../../lib/format.ts';
import { present } from '../../lib/me.ts';
import {
  dayAfter,
  daysBetween,
  daysUntil,
  isDay,
  isSameOrBefore,
  longDay,
  shortDay,
  startOf,
  timeZone,
} from './days.ts';
import { type Day, daysQuery, type Shown } from './query.ts';

const BACK = 'M12 4l-6 6 6 6';
const ON = 'M8 4l6 6-6 6';
const DAYS = 56;
const PARTS = ['memories', 'events', 'sessions'] as const;

interface DayStripProps {
  day: string;
  today: string;
  projectId: string;
  shown: Shown;
  onDay: (day: string) => void;
}

export function DayStrip({ day, today, projectId, shown, onDay }: DayStripProps) {
  // Whole windows of eight weeks back from today, so that the days stand still while somebody goes from one to the next.
  const window = Math.max(0, Math.floor(daysBetween(day, today) / DAYS));
  const last = dayAfter(today, -window * DAYS);
  const days = daysUntil(last, DAYS);
  const counted = useData(daysQuery, {
    since: startOf(days[0]!).toISOString(),
    until: startOf(last, 1).toISOString(),
    timeZone,
    projectId: projectId || null,
  });
  const counts = new Map(present(counted.data?.memoryDays).map((one) => [one.day, one]));
  const parts: readonly (typeof PARTS)[number][] = shown === 'all' ? PARTS : [shown];
  const sum = (one: string) => parts.reduce<number>((total, part) => total + (counts.get(one)?.[part] ?? 0), 0);
  const most = Math.max(1, ...days.map(sum));
  const busy = days.filter((one) => sum(one) > 0);
  const before = busy.filter((one) => one < day).at(-1);
  const next = busy.find((one) => one > day);
  const pick = (event: MouseEvent) => {
    const chosen = (event.target as Element).closest<HTMLElement>('[data-day]')?.dataset.day;
    if (chosen) onDay(chosen);
  };
  if (counted.error) return <Failure error={counted.error} onRetry={counted.refresh} />;
  return (
    <section class="days panel" aria-label="Days">
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the buttons and the field for the day do the same */}
      <div class="bars" role="img" aria-label={saying(days, sum, busy)} onClick={pick}>
        {days.map((one) => (
          <div
            key={one}
            class={`day-bar ${one === day ? 'chosen' : ''}`}
            data-day={one}
            title={titleOf(one, counts.get(one))}
          >
            {parts.map((part) => {
              const count = counts.get(one)?.[part] ?? 0;
              // A day of few is seen beside one of many.
              return (
                <div
                  key={part}
                  class={part}
                  style={{ height: `${(count / most) * 100}%`, minHeight: count > 0 ? '3px' : '0' }}
                />
              );
            })}
          </div>
        ))}
      </div>
      <div class="days-foot">
        <Button look="quiet" label="Eight weeks earlier" icon={BACK} onClick={() => onDay(dayAfter(days[0]!, -1))} />
        <span class="muted">{shortDay(days[0]!)}</span>
        <span class="space" />
        {parts.length > 1 && (
          <span class="legend" aria-hidden="true">
            {PARTS.map((part) => (
              <span key={part} class={part}>
                {part}
              </span>
            ))}
          </span>
        )}
        <span class="space" />
        <span class="muted">{last === today ? 'today' : shortDay(last)}</span>
        <Button
          look="quiet"
          label="Eight weeks later"
          icon={ON}
          isDisabled={last === today}
          onClick={() => onDay(latest(dayAfter(last, DAYS), today))}
        />
      </div>
      <div class="days-go">
        <Button label="Earlier day" icon={BACK} isDisabled={!before} onClick={() => onDay(before!)} />
        <TextField label="Day" type="date" value={day} onInput={(to) => isDay(to) && onDay(latest(to, today))} />
        <Button label="Later day" icon={ON} isDisabled={!next} onClick={() => onDay(next!)} />
        {day !== today && (
          <Button look="quiet" onClick={() => onDay(today)}>
            Today
          </Button>
        )}
      </div>
    </section>
  );
}

const latest = (day: string, today: string) => (isSameOrBefore(day, today) ? day : today);

const titleOf = (day: string, count: Day | undefined) =>
  `${longDay(day)}: ${PARTS.map((part) => `${formatNumber(count?.[part] ?? 0)}${count?.isPartial ? '+' : ''} ${part}`).join(', ')}`;

const saying = (days: readonly string[], sum: (day: string) => number, busy: readonly string[]) => {
  if (busy.length === 0) return `Nothing from ${longDay(days[0]!)} to ${longDay(days.at(-1)!)}`;
  const most = busy.reduce((best, one) => (sum(one) > sum(best) ? one : best));
  return `Counts by day from ${longDay(days[0]!)} to ${longDay(days.at(-1)!)}; most, ${sum(most)}, on ${longDay(most)}`;
};
