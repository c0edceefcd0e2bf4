import './timeline.css';
import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { TextField } from '../../components/field.tsx';
import { PageView } from '../../components/page-view.tsx';
import { Pager } from '../../components/pager.tsx';
import { Empty, Ready } from '../../components/states.tsx';
import { useAddress } from '../../lib/address.ts';
import { useData } from '../../lib/data.ts';
import { present } from '../../lib/me.ts';
import { DayList } from './day-list.tsx';
import { DayStrip } from './day-strip.tsx';
import { dayOf, isDay, startOf } from './days.ts';
import { PAGE_SIZE, SHOWN, type Shown, timelineQuery } from './query.ts';

export default function TimelineView() {
  const address = useAddress();
  const today = dayOf(new Date());
  const asked = address.get('day');
  const day = isDay(asked) ? asked : today;
  const shown = Object.hasOwn(SHOWN, address.get('show')) ? (address.get('show') as Shown) : 'all';
  const projectId = address.get('project');
  const after = address.get('after');
  const goTo = (to: string) => address.set({ day: to === today ? null : to, after: null });
  // Today has no end, so that what carries a time a little ahead of the clock is there.
  const filter = {
    ...SHOWN[shown].filter,
    ...(day === today ? {} : { timestamp: { lessThan: startOf(day, 1).toISOString() } }),
    ...(projectId ? { projectId: { equalTo: projectId } } : {}),
  };
  const memories = useData(timelineQuery, {
    first: PAGE_SIZE,
    after: after || null,
    // The API takes no empty filter.
    filter: Object.keys(filter).length > 0 ? filter : undefined,
  });
  return (
    <PageView title="Timeline" about="Memories, events and archived sessions by the day on which they happened.">
      <DayStrip day={day} today={today} projectId={projectId} shown={shown} onDay={goTo} />
      <div class="timeline-filters">
        <div class="switch" role="group" aria-label="Show">
          {(Object.keys(SHOWN) as Shown[]).map((name) => (
            <Button
              key={name}
              isPressed={name === shown}
              onClick={() => address.set({ show: name === 'all' ? null : name, after: null })}
            >
              {SHOWN[name].title}
            </Button>
          ))}
        </div>
        <ProjectField
          key={projectId}
          projectId={projectId}
          onChange={(project) => address.set({ project, after: null })}
        />
      </div>
      <Ready of={memories} rows={8}>
        {({ memories: page }) => {
          const rows = present(page?.nodes);
          if (rows.length === 0) {
            return (
              <Empty title="Nothing happened then">
                {day === today ? 'What agents save appears here.' : 'Choose a later day, or show more.'}
              </Empty>
            );
          }
          return (
            <>
              <DayList moments={rows} />
              <Pager
                onFirst={after ? () => address.set({ after: null }) : undefined}
                onNext={page?.pageInfo.hasNextPage ? () => address.set({ after: page.pageInfo.endCursor }) : undefined}
              />
            </>
          );
        }}
      </Ready>
    </PageView>
  );
}

function ProjectField({ projectId, onChange }: { projectId: string; onChange: (projectId: string) => void }) {
  const [typed, setTyped] = useState(projectId);
  const submit = (event: Event) => {
    event.preventDefault();
    onChange(typed.trim());
  };
  return (
    <form onSubmit={submit}>
      <TextField label="Project" value={typed} onInput={setTyped} placeholder="all" />
    </form>
  );
}
