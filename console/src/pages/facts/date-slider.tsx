import { useEffect, useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { formatDay, formatTime } from '../../lib/format.ts';
import { changeAfter, changeBefore, momentAt, placeOf, type Scale } from './moments.ts';

const DAY = 86_400_000;
/** Moving the slider asks the server once it rests. */
const RESTS_AFTER_MS = 180;

interface DateSliderProps {
  scale: Scale;
  /** Null: now. */
  at: number | null;
  onChange: (at: number | null) => void;
}

export function DateSlider({ scale, at, onChange }: DateSliderProps) {
  const [moved, setMoved] = useState<number | null>(null);
  useEffect(() => {
    if (moved === null) return;
    const timer = setTimeout(() => {
      onChange(moved >= scale.end ? null : momentAt(moved, scale));
      setMoved(null);
    }, RESTS_AFTER_MS);
    return () => clearTimeout(timer);
  }, [moved, scale, onChange]);
  const shown = moved === null ? (at ?? scale.end) : momentAt(moved, scale);
  const text = shown >= scale.end ? 'Now' : name(shown, scale);
  const before = changeBefore(shown, scale);
  const after = changeAfter(shown, scale);
  const steps = Math.ceil((scale.end - scale.start) / scale.step);
  return (
    <div class="slider">
      <div class="slider-head">
        <output class="slider-date">{text}</output>
        <Button isDisabled={before === undefined} onClick={() => onChange(momentAt(before!, scale))}>
          Earlier change
        </Button>
        <Button isDisabled={after === undefined || after > scale.end} onClick={() => onChange(momentAt(after!, scale))}>
          Later change
        </Button>
        <Button look="quiet" isDisabled={at === null} onClick={() => onChange(null)}>
          Now
        </Button>
      </div>
      <div class="slider-track">
        <input
          type="range"
          aria-label="Date"
          aria-valuetext={text}
          min={0}
          max={steps}
          step={1}
          value={Math.round(placeOf(shown, scale) * steps)}
          onInput={(event) => setMoved(timeOf(Number(event.currentTarget.value), steps, scale))}
        />
        <div class="slider-ends" aria-hidden="true">
          <span>{name(scale.start, scale)}</span>
          <span>now</span>
        </div>
      </div>
    </div>
  );
}

const timeOf = (step: number, steps: number, { start, end }: Scale) =>
  step >= steps ? end : start + ((end - start) * step) / steps;

const name = (time: number, { step }: Scale) => {
  const text = new Date(time).toISOString();
  return step < DAY ? formatTime(text) : formatDay(text);
};
