// A plot of the last hour. The figures at the pointer, or the newest ones, stand beside the names of the series.
import { useEffect, useRef, useState } from 'preact/hooks';
import { useStore } from '../../lib/store.ts';
import { theme } from '../../lib/theme.ts';
import type { PlotProps, Series } from './plot-props.ts';

/** A line needs two minutes. */
const FEWEST = 2;

function missing({ times, series, empty }: PlotProps): string | null {
  if (times.length < FEWEST) return 'Data is being collected. The plot begins with the second minute.';
  return series.every(({ values }) => values.every((value) => value === null)) ? empty : null;
}

const lastOf = (values: readonly (number | null)[]) => values.findLast((value) => value !== null) ?? null;

export function Plot(props: PlotProps) {
  const { title, times, series, format } = props;
  const place = useRef<HTMLDivElement>(null);
  const [index, setIndex] = useState<number | null>(null);
  const nothing = missing(props);
  const chosen = useStore(theme);
  const [isDark, setDark] = useState(false);
  useEffect(() => {
    const system = matchMedia('(prefers-color-scheme: dark)');
    const update = () => setDark(system.matches);
    update();
    system.addEventListener('change', update);
    return () => system.removeEventListener('change', update);
  }, []);
  useEffect(() => {
    if (nothing) return;
    let isGone = false;
    let remove: (() => void) | undefined;
    void import('./draw.ts').then(({ draw }) => {
      if (!isGone) remove = draw(place.current!, props, setIndex);
    });
    return () => {
      isGone = true;
      remove?.();
    };
  }, [times, series, chosen, isDark, nothing]);

  const shownOf = ({ values }: Series) => {
    const value = index === null ? lastOf(values) : (values[index] ?? null);
    return value === null ? '–' : format(value);
  };
  const highestOf = ({ values }: Series) => format(Math.max(0, ...values.map((value) => value ?? 0)));
  return (
    <figure class="plot">
      <figcaption>
        <span class="plot-title">{title}</span>
        {series.map((one) => (
          <span key={one.name} class="plot-key">
            <span class={`plot-line colour-${one.colour}`} aria-hidden="true" />
            {one.name} <strong>{shownOf(one)}</strong>
          </span>
        ))}
      </figcaption>
      {nothing ? (
        <p class="plot-place plot-empty">{nothing}</p>
      ) : (
        <div
          ref={place}
          class="plot-place"
          role="img"
          aria-label={`${title} in the last hour. ${series
            .map((one) => `${one.name}: now ${shownOf(one)}, at most ${highestOf(one)}`)
            .join('; ')}.`}
        />
      )}
    </figure>
  );
}
