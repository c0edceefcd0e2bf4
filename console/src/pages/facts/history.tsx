// All that was ever stated of a subject, and what became of it.
import { Chip } from '../../components/chip.tsx';
import { type Column, List } from '../../components/list.tsx';
import { Time } from '../../components/time.tsx';
import type { Statement } from './query.ts';
import { objectText, stateOf, validity } from './state.ts';

export function History({
  statements,
  onShow,
}: {
  statements: readonly Statement[];
  onShow: (factId: string) => void;
}) {
  const byId = new Map(statements.map((one) => [one.factId, one]));
  const newestFirst = [...statements].sort((a, b) => Date.parse(b.recordedAt) - Date.parse(a.recordedAt));
  const columns: readonly Column<Statement>[] = [
    {
      name: 'fact',
      title: 'Statement',
      isMain: true,
      show: (fact) => (
        <button type="button" class="as-link statement" onClick={() => onShow(fact.factId)}>
          <span class="predicate">{fact.predicate}</span> {objectText(fact.object)}
        </button>
      ),
    },
    {
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
    },
    {
      name: 'why',
      title: 'By what',
      isNamed: true,
      show: (fact) => <Why fact={fact} successor={byId.get(fact.supersededById ?? '')} />,
    },
    {
      name: 'valid',
      title: 'Held',
      show: (fact) =>
        stateOf(fact).name === 'outranked' ? <span class="none">never</span> : validity(fact.validFrom, fact.validTo),
    },
    { name: 'creator', title: 'Stated by', show: ({ creator }) => creator },
    { name: 'recorded', title: 'Recorded', show: ({ recordedAt }) => <Time at={recordedAt} /> },
  ];
  return (
    <section class="part" aria-labelledby="history">
      <h2 id="history">All statements</h2>
      <List
        caption="All statements, recorded last first"
        columns={columns}
        rows={newestFirst}
        keyOf={({ factId }) => factId}
      />
    </section>
  );
}

function Why({ fact, successor }: { fact: Statement; successor: Statement | undefined }) {
  if (fact.retractedAt) return <>{fact.retractionReason || 'no reason given'}</>;
  if (successor) return <>{objectText(successor.object)}</>;
  return null;
}
