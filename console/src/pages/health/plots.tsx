// The four plots of the last hour, from the minutes that the gateway remembers.
import { useMemo } from 'preact/hooks';
import { formatDuration, formatNumber } from '../../lib/format.ts';
import { Plot } from './plot.tsx';
import type { Series } from './plot-props.ts';
import type { Gateway } from './query.ts';

type Minutes = Gateway['minutes'];

const series = (minutes: Minutes, name: string, colour: number, of: (minute: Minutes[number]) => number | null) =>
  ({ name, colour, values: minutes.map(of) }) satisfies Series;

const MEBIBYTES = [10, 20, 50, 100, 200, 500, 1_000, 2_000].map((size) => size * 1024 ** 2);
const formatMebibytes = (bytes: number) => `${formatNumber(Math.round(bytes / 1024 ** 2))} MiB`;

export function Plots({ minutes }: { minutes: Minutes }) {
  const plots = useMemo(() => {
    const one = series.bind(null, minutes);
    return [
      {
        title: 'Calls a minute',
        empty: 'Nothing was counted yet.',
        format: formatNumber,
        series: [
          one('all', 1, ({ calls }) => calls),
          one('refused', 2, ({ refused, limited }) => refused + limited),
          one('failed', 6, ({ failed }) => failed),
        ],
      },
      {
        title: 'Duration of calls',
        empty: 'There were no calls in the last hour.',
        format: (ms: number) => formatDuration(ms / 1_000),
        series: [
          one('mean', 1, ({ calls, meanMs }) => (calls > 0 ? meanMs : null)),
          one('slowest', 2, ({ calls, slowestMs }) => (calls > 0 ? slowestMs : null)),
        ],
      },
      {
        title: 'Waiting',
        empty: 'Nothing was measured yet.',
        format: formatNumber,
        series: [
          one('for vectors', 4, ({ embeddingWaiting }) => embeddingWaiting),
          one('for a connection', 3, ({ connectionsWaiting }) => connectionsWaiting),
        ],
      },
      {
        title: 'Memory of the process',
        empty: 'Nothing was measured yet.',
        format: formatMebibytes,
        steps: MEBIBYTES,
        series: [one('resident', 3, ({ residentBytes }) => residentBytes)],
      },
    ];
  }, [minutes]);
  const times = useMemo(() => minutes.map(({ at }) => Date.parse(at) / 1_000), [minutes]);
  return (
    <section class="plots" aria-label="The last hour">
      {plots.map((plot) => (
        <Plot key={plot.title} times={times} {...plot} />
      ))}
    </section>
  );
}
