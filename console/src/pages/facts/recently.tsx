// All facts, the ones recorded last first: where a person begins who doesn't know yet what there is.
import { Link } from 'wouter-preact';
import { Chip, Scope } from '../../components/chip.tsx';
import { type Column, List } from '../../components/list.tsx';
import { Pager } from '../../components/pager.tsx';
import { Empty, Ready } from '../../components/states.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { Time } from '../../components/time.tsx';
import { useAddress } from '../../lib/address.ts';
import { useData } from '../../lib/data.ts';
import { present } from '../../lib/me.ts';
import { PAGE_SIZE, type Recent, recentFacts } from './query.ts';
import { objectText, percent, stateOf } from './state.ts';

const about = ({ subject }: Recent) => `/facts?subject=${encodeURIComponent(subject)}`;

const statement: Column<Recent> = {
  name: 'fact',
  title: 'Fact',
  isMain: true,
  show: (fact) => (
    <span class="statement">
      <Link href={about(fact)}>{fact.subject}</Link> <span class="predicate">{fact.predicate}</span>{' '}
      {objectText(fact.object)}
    </span>
  ),
};
const state: Column<Recent> = {
  name: 'state',
  title: 'State',
  show: (fact) => {
    const { tone, name, means } = stateOf(fact);
    return (
      <Chip tone={tone} title={means}>
        {name}
      </Chip>
    );
  },
};
const rest: readonly Column<Recent>[] = [
  { name: 'confidence', title: 'Confidence', isNumber: true, show: ({ confidence }) => percent(confidence) },
  { name: 'scope', title: 'Scope', show: ({ scope }) => <Scope name={scope} /> },
  { name: 'creator', title: 'Stated by', show: ({ creator }) => creator },
  { name: 'recorded', title: 'Recorded', show: ({ recordedAt }) => <Time at={recordedAt} /> },
];
const replaced: Column<Recent> = {
  name: 'by',
  title: 'What is stated instead',
  isNamed: true,
  show: ({ supersededBy }) => (supersededBy ? objectText(supersededBy.object) : null),
};

const LISTS = {
  recent: { title: 'Recorded last', filter: undefined, columns: [statement, state, ...rest] },
  superseded: {
    title: 'Superseded or outranked',
    filter: { supersededById: { isNull: false } },
    columns: [statement, state, replaced, ...rest.slice(1)],
  },
} as const;

function FactList({ name }: { name: keyof typeof LISTS }) {
  const address = useAddress();
  const after = address.get('after');
  const { filter, columns, title } = LISTS[name];
  const facts = useData(recentFacts, { first: PAGE_SIZE, after: after || null, filter });
  return (
    <Ready of={facts}>
      {({ facts: page }) => {
        const rows = present(page?.nodes);
        if (rows.length === 0) {
          return name === 'recent' ? (
            <Empty title="No facts yet">
              Agents state facts with assert_fact; a chat model can extract them from memories.
            </Empty>
          ) : (
            <Empty title="Nothing was superseded">
              A later value of a property that has one value at a time appears here.
            </Empty>
          );
        }
        return (
          <>
            <List
              caption={`Facts: ${title}`}
              columns={columns}
              rows={rows}
              keyOf={({ factId }) => factId}
              hrefOf={about}
            />
            <Pager
              onFirst={after ? () => address.set({ after: null }) : undefined}
              onNext={page?.pageInfo.hasNextPage ? () => address.set({ after: page.pageInfo.endCursor }) : undefined}
            />
          </>
        );
      }}
    </Ready>
  );
}

export function Recently() {
  const address = useAddress();
  return (
    <Tabs
      label="Facts"
      current={address.get('list') || 'recent'}
      onChange={(name) => address.set({ list: name === 'recent' ? null : name, after: null })}
      tabs={(['recent', 'superseded'] as const).map((name) => ({
        name,
        title: LISTS[name].title,
        show: () => <FactList name={name} />,
      }))}
    />
  );
}
