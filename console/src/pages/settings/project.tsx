// One project: how much it holds, and the keys, callers and rules that are about it.
import { Link } from 'wouter-preact';
import { Facts } from '../../components/fields-view.tsx';
import { Ready } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { useData } from '../../lib/data.ts';
import { formatNumber } from '../../lib/format.ts';
import { CallersOf, KeysOf, type ProjectProps, RulesOf } from './project-parts.tsx';
import { projectQuery } from './query.ts';
import { Section } from './section.tsx';

const counts = (by: unknown): string =>
  Object.entries((by ?? {}) as Record<string, number>)
    .sort((a, b) => b[1] - a[1])
    .slice(0, 8)
    .map(([name, count]) => `${name} ${formatNumber(count)}`)
    .join(', ');

export function Project(props: ProjectProps) {
  const { name } = props;
  const stats = useData(projectQuery, { project: name });
  return (
    <>
      <Section
        title={name}
        about="To move, tag or delete what is in it, select it on the page Memories. A project can't be renamed as a whole, because others may rely on its name."
      >
        <Ready of={stats} rows={3}>
          {({ getMemoryStats }) => (
            <Facts
              items={[
                [
                  'Memories',
                  <Link key="memories" href={`/memories?project=${encodeURIComponent(name)}`}>
                    {formatNumber(getMemoryStats?.total ?? 0)}
                  </Link>,
                ],
                ['Kinds', counts(getMemoryStats?.byKind)],
                ['Scopes', counts(getMemoryStats?.byScope)],
                ['Creators', counts(getMemoryStats?.byCreator)],
                ['Oldest', getMemoryStats?.oldest && <Time key="oldest" at={getMemoryStats.oldest} />],
                ['Newest', getMemoryStats?.newest && <Time key="newest" at={getMemoryStats.newest} />],
              ]}
            />
          )}
        </Ready>
      </Section>
      <KeysOf {...props} />
      <CallersOf {...props} />
      <RulesOf {...props} />
    </>
  );
}
