// Queues and jobs.
import type { ComponentChildren } from 'preact';
import { Chip } from '../../components/chip.tsx';
import { type Column, List } from '../../components/list.tsx';
import { Empty } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { formatDuration, formatNumber } from '../../lib/format.ts';
import { present } from '../../lib/me.ts';
import type { Gateway, Health } from './query.ts';

interface Queue {
  name: string;
  does: string;
  waiting: number | null;
  oldest: number | null;
  state: ComponentChildren;
}

const queueColumns: readonly Column<Queue>[] = [
  {
    name: 'name',
    title: 'Queue',
    isMain: true,
    show: ({ name, does }) => (
      <>
        {name} <span class="muted">{does}</span>
      </>
    ),
  },
  {
    name: 'waiting',
    title: 'Waiting',
    isNumber: true,
    show: ({ waiting }) => (waiting === null ? '–' : formatNumber(waiting)),
  },
  {
    name: 'oldest',
    title: 'Oldest',
    isNumber: true,
    show: ({ waiting, oldest }) => (waiting ? formatDuration(oldest ?? 0) : '–'),
  },
  { name: 'state', title: 'State', show: ({ state }) => state },
];

const queuesOf = (health: Health): Queue[] => [
  {
    name: 'Vectors',
    does: 'makes memories findable by meaning',
    waiting: health.embeddingWaiting,
    oldest: health.embeddingOldestSeconds,
    state: health.embeddingFailing ? `${formatNumber(health.embeddingFailing)} failed before` : 'well',
  },
  {
    name: 'Extraction',
    does: 'a chat model reads memories for facts',
    waiting: health.extractionWaiting,
    oldest: health.extractionOldestSeconds,
    state: health.extractionGivenUp ? `${formatNumber(health.extractionGivenUp)} given up` : 'well',
  },
  ...(health.isWholeServer
    ? [
        {
          name: 'Seals',
          does: 'chain the rows of the audit log',
          waiting: health.unsealedRows,
          oldest: health.unsealedOldestSeconds,
          state: health.lastSealedAt ? (
            <>
              sealed <Time at={health.lastSealedAt} />
            </>
          ) : (
            'never sealed'
          ),
        },
        {
          name: 'Importance',
          does: 'counts accesses and votes',
          waiting: health.accessesWaiting,
          oldest: health.accessesOldestSeconds,
          state: 'well',
        },
      ]
    : []),
];

type Job = NonNullable<NonNullable<Health['jobs']>[number]>;

const jobColumns: readonly Column<Job>[] = [
  { name: 'type', title: 'Job', isMain: true, show: ({ type }) => <code>{type}</code> },
  { name: 'state', title: 'State', show: (job) => <JobState job={job} /> },
  { name: 'runs', title: 'Runs in 7 days', isNumber: true, show: ({ runs }) => formatNumber(runs ?? 0) },
  { name: 'failed', title: 'Failed', isNumber: true, show: ({ failed }) => formatNumber(failed ?? 0) },
  { name: 'last', title: 'Last completed', show: ({ lastCompletedAt }) => <Time at={lastCompletedAt} /> },
  {
    name: 'took',
    title: 'Took',
    isNumber: true,
    show: ({ lastSeconds }) => (lastSeconds === null ? '–' : formatDuration(lastSeconds)),
  },
];

function JobState({ job }: { job: Job }) {
  if (job.runningSince) return <Chip tone="info">running</Chip>;
  if (job.lastFailedAt && (!job.lastCompletedAt || job.lastFailedAt > job.lastCompletedAt))
    return (
      <Chip tone="bad" title={job.lastError ?? ''}>
        failed{job.lastError ? `: ${job.lastError}` : ''}
      </Chip>
    );
  return <Chip tone="good">well</Chip>;
}

type Queued = NonNullable<Gateway['queuedJobs']>[number];

const queuedColumns: readonly Column<Queued>[] = [
  { name: 'name', title: 'In the queue of jobs', isMain: true, show: ({ name }) => <code>{name}</code> },
  { name: 'running', title: 'Running', isNumber: true, show: ({ running }) => formatNumber(running) },
  { name: 'waiting', title: 'Waiting', isNumber: true, show: ({ waiting }) => formatNumber(waiting) },
  {
    name: 'failed',
    title: 'Failed',
    isNumber: true,
    show: ({ failed, error }) => (failed ? `${formatNumber(failed)} ${error ?? ''}` : '0'),
  },
];

export function Work({ health }: { health: Health }) {
  const jobs = present(health.jobs);
  const queued = health.gateway?.queuedJobs ?? [];
  return (
    <div class="stack">
      <List caption="Queues" columns={queueColumns} rows={queuesOf(health)} keyOf={({ name }) => name} />
      {jobs.length > 0 ? (
        <List caption="Jobs" columns={jobColumns} rows={jobs} keyOf={({ type }) => type ?? ''} />
      ) : (
        <Empty title="No job has kept a record in the last seven days" />
      )}
      {queued.length > 0 && (
        <List caption="Queue of jobs" columns={queuedColumns} rows={queued} keyOf={({ name }) => name} />
      )}
    </div>
  );
}
