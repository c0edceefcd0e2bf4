// A plot of the last hour, drawn by uPlot. The figures at the pointer, or the newest ones, stand beside the names of the series.
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { useStore } from '../../lib/store.ts';
import { theme } from '../../lib/theme.ts';
import 'uplot/dist/uPlot.min.css';

export interface Series {
  name: string;
  /** The number of a colour of the tokens: --series-1 … */
  colour: number;
  values: readonly (number | null)[];
}

interface PlotProps {
  title: string;
  /** Seconds since 1970. */
  times: readonly number[];
  series: readonly Series[];
  format: (value: number) => string;
  /** Distances between the lines of the vertical axis, where powers of ten would be odd. */
  steps?: number[] | undefined;
}

const HEIGHT = 132;

/** Canvases need colours as they are computed, which `light-dark()` is not. */
function colourOf(element: HTMLElement, name: string): string {
  element.style.setProperty('color', `var(${name})`);
  const { color } = getComputedStyle(element);
  element.style.removeProperty('color');
  return color;
}

const hours = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const timeOfDay = (seconds: number) => hours.format(seconds * 1_000);

const lastOf = (values: readonly (number | null)[]) => values.findLast((value) => value !== null) ?? null;

function draw(
  place: HTMLElement,
  { times, series, format, steps }: PlotProps,
  onPoint: (index: number | null) => void,
) {
  const axis = {
    stroke: colourOf(place, '--ink-soft'),
    font: `11px ${getComputedStyle(place).fontFamily}`,
    grid: { stroke: colourOf(place, '--line'), width: 1 },
    ticks: { show: false },
  };
  const highest = Math.max(0, ...series.flatMap(({ values }) => values.map((value) => value ?? 0)));
  const plot = new uPlot(
    {
      width: place.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
      padding: [8, 18, 0, 0],
      scales: { y: { range: [0, highest > 0 ? highest * 1.1 : 1] } },
      axes: [
        { ...axis, space: 60, size: 24, grid: { show: false }, values: (_plot, splits) => splits.map(timeOfDay) },
        {
          ...axis,
          space: 34,
          size: 56,
          ...(steps && { incrs: steps }),
          values: (_plot, splits) => splits.map((value) => format(value)),
        },
      ],
      series: [
        {},
        ...series.map(({ name, colour, values }) => ({
          label: name,
          stroke: colourOf(place, `--series-${colour}`),
          width: 1.75,
          spanGaps: true,
          // A line needs two points.
          points: { show: values.filter((value) => value !== null).length < 3 },
        })),
      ],
      hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? null)] },
    },
    [[...times], ...series.map(({ values }) => [...values])] as uPlot.AlignedData,
    place,
  );
  const resize = new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height: HEIGHT }));
  resize.observe(place);
  return () => {
    resize.disconnect();
    plot.destroy();
  };
}

export function Plot(props: PlotProps) {
  const { title, times, series, format } = props;
  const place = useRef<HTMLDivElement>(null);
  const [index, setIndex] = useState<number | null>(null);
  const chosen = useStore(theme);
  const [isDark, setDark] = useState(false);
  useEffect(() => {
    const system = matchMedia('(prefers-color-scheme: dark)');
    const update = () => setDark(system.matches);
    update();
    system.addEventListener('change', update);
    return () => system.removeEventListener('change', update);
  }, []);
  useEffect(() => draw(place.current!, props, setIndex), [times, series, chosen, isDark]);

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
      <div
        ref={place}
        class="plot-place"
        role="img"
        aria-label={`${title} in the last hour. ${series
          .map((one) => `${one.name}: now ${shownOf(one)}, at most ${highestOf(one)}`)
          .join('; ')}.`}
      />
    </figure>
  );
}
