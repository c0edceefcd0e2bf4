// The figures at one glance.
import type { ComponentChildren } from 'preact';
import { formatBytes, formatDuration, formatNumber } from '../../lib/format.ts';
import type { Health } from './query.ts';

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

export function Figures({ health }: { health: Health }) {
  const { gateway } = health;
  const items: [name: string, value: ComponentChildren, more: ComponentChildren][] = [
    [
      'Waiting for vectors',
      formatNumber(health.embeddingWaiting ?? 0),
      health.embeddingWaiting
        ? `the first for ${formatDuration(health.embeddingOldestSeconds ?? 0)}`
        : 'all are embedded',
    ],
    [
      'Embedding model',
      <span class="model">{health.servingModel ?? 'none'}</span>,
      gateway && (gateway.isEmbedderReady ? 'answers' : 'does not answer'),
    ],
  ];
  if (gateway) {
    const calls = sum(gateway.operations.map((operation) => operation.calls));
    const total = sum(gateway.operations.map((operation) => operation.calls * operation.meanMs));
    items.push(
      [
        'Calls in the last hour',
        formatNumber(calls),
        `${formatNumber(sum(gateway.operations.map(({ failed }) => failed)))} failed`,
      ],
      [
        'Mean duration',
        calls ? formatDuration(total / calls / 1_000) : '–',
        `${formatNumber(gateway.slowCalls.length)} slow`,
      ],
    );
  }
  if (health.databaseBytes) {
    const rate = health.cacheHitRate;
    items.push([
      'Database',
      formatBytes(Number(health.databaseBytes)),
      rate === null ? '' : `${formatNumber(Math.round(rate * 1_000) / 10)} % read from cache`,
    ]);
  }
  if (gateway) {
    const free = gateway.diskFreeBytes;
    items.push([
      'Free disk',
      free === null ? '–' : formatBytes(free),
      free === null ? 'the server does not tell' : gateway.diskState === 'ok' ? 'enough' : 'too little',
    ]);
  }
  return (
    <dl class="figures">
      {items.map(([name, value, more]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd class="figure">{value}</dd>
          <dd class="muted">{more}</dd>
        </div>
      ))}
    </dl>
  );
}
