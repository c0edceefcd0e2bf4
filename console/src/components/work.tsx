import { Link } from 'wouter-preact';
import { formatNumber } from '../lib/format.ts';
import { useStore } from '../lib/store.ts';
import { stopWork, type Work, works } from '../lib/works.ts';
import { Button } from './button.tsx';
import { Chip } from './chip.tsx';

/** One long work on the page that began it: how far it is, or how it ended. */
export function WorkLine({ name }: { name: string }) {
  const work = useStore(works).find((one) => one.name === name);
  if (!work) return null;
  return (
    <div class="work" role="status">
      {work.state === 'running' ? (
        <>
          <span>{work.title}</span>
          <progress aria-label={work.title} {...(work.total ? { value: work.done, max: work.total } : {})} />
          <span class="muted number">{progressText(work)}</span>
          <Button look="quiet" onClick={() => stopWork(name)}>
            Stop
          </Button>
        </>
      ) : (
        <>
          <Chip tone={work.state === 'done' ? 'good' : work.state === 'failed' ? 'bad' : 'plain'}>{work.state}</Chip>
          <span>{work.said}</span>
        </>
      )}
    </div>
  );
}

const progressText = ({ done, total, unit }: Work) =>
  `${formatNumber(done)}${total ? ` of ${formatNumber(total)}` : ''} ${unit}`;

/** What runs, on every page: it leads back to where it was begun. */
export function RunningWorks() {
  const running = useStore(works).filter(({ state }) => state === 'running');
  return (
    <>
      {running.map((work) => (
        <Link key={work.name} href={work.path} class="running" title={`${work.title}: ${progressText(work)}`}>
          <span class="spinner" aria-hidden="true" />
          <span class="running-title">{work.title}</span>
          {work.total ? ` ${Math.floor((work.done / work.total) * 100)} %` : ''}
        </Link>
      ))}
    </>
  );
}
