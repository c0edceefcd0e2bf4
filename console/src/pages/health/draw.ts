// Draws a plot by uPlot, which is loaded when the first plot is drawn, so that the page opens without it.
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { PlotProps } from './plot-props.ts';

const HEIGHT = 132;

/** Canvases need colours as they are computed, which `light-dark()` is not. */
function colourOf(element: HTMLElement, name: string): string {
  element.style.setProperty('color', `var(${name})`);
  const { color } = getComputedStyle(element);
  element.style.removeProperty('color');
  return color;
}

/** Seconds between the times of the horizontal axis, which are shown to the minute. */
const MINUTES = [1, 2, 5, 10, 15, 20, 30].map((minutes) => minutes * 60);

/** Values without a value before and after them, which no line leads to. */
const alone = (values: readonly (number | null)[]) =>
  values.flatMap((value, index) =>
    value !== null && (values[index - 1] ?? null) === null && (values[index + 1] ?? null) === null ? [index] : [],
  );

const hours = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const timeOfDay = (seconds: number) => hours.format(seconds * 1_000);

export function draw(
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
        {
          ...axis,
          space: 60,
          size: 24,
          incrs: MINUTES,
          grid: { show: false },
          values: (_plot, splits) => splits.map(timeOfDay),
        },
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
          // A minute in which nothing was measured, or called, is a gap.
          spanGaps: false,
          points: { show: true, size: 5, filter: () => alone(values) },
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
