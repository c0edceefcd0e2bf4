// What held at one moment, as the database answers it.
import { Chip, Scope } from '../../components/chip.tsx';
import { type Column, List } from '../../components/list.tsx';
import { Empty, Ready } from '../../components/states.tsx';
import { useData } from '../../lib/data.ts';
import { formatDay, formatTime } from '../../lib/format.ts';
import { present } from '../../lib/me.ts';
import { type Held, subjectAsOf } from './query.ts';
import { objectText, percent, validity } from './state.ts';

interface HeldFactsProps {
  subject: string;
  /** Null: now. */
  at: number | null;
  /** Whether minutes matter. */
  isShort: boolean;
  isKnownThen: boolean;
  onShow: (factId: string) => void;
}

type Row = Held & { fact: NonNullable<Held['fact']> };

export function HeldFacts({ subject, at, isShort, isKnownThen, onShow }: HeldFactsProps) {
  const validAt = at === null ? null : new Date(at).toISOString();
  const held = useData(subjectAsOf, { subject, validAt, knownAt: isKnownThen ? validAt : null });
  const title = validAt === null ? 'now' : isShort ? `at ${formatTime(validAt)}` : `on ${formatDay(validAt)}`;
  return (
    <section class="part" aria-labelledby="held">
      <h2 id="held">What holds {title}</h2>
      <Ready of={held} rows={3}>
        {({ factsAsOf }) => {
          const rows = present(factsAsOf).filter((row): row is Row => row.fact !== null);
          return rows.length === 0 ? (
            <Empty title="Nothing held then" />
          ) : (
            <List
              caption={`Facts of ${subject} ${title}`}
              columns={columnsWith(onShow)}
              rows={rows}
              keyOf={({ fact }) => fact.factId}
            />
          );
        }}
      </Ready>
    </section>
  );
}

const columnsWith = (onShow: (factId: string) => void): readonly Column<Row>[] => [
  {
    name: 'fact',
    title: 'Fact',
    isMain: true,
    show: ({ fact, replaced }) => (
      <>
        <button type="button" class="as-link statement" onClick={() => onShow(fact.factId)}>
          <span class="predicate">{fact.predicate}</span> {objectText(fact.object)}
        </button>
        {replaced && <span class="instead">instead of {objectText(replaced.object)}</span>}
      </>
    ),
  },
  {
    name: 'against',
    title: 'Doubts',
    show: ({ fact: { contradictionCount: count } }) =>
      count > 0 ? <Chip tone="warn">contradicted by {count === 1 ? 'one agent' : `${count} agents`}</Chip> : null,
  },
  { name: 'valid', title: 'Held', show: ({ validFrom, validTo }) => validity(validFrom!, validTo) },
  { name: 'confidence', title: 'Confidence', isNumber: true, show: ({ fact }) => percent(fact.confidence) },
  { name: 'scope', title: 'Scope', show: ({ fact }) => <Scope name={fact.scope} /> },
  {
    name: 'creator',
    title: 'Stated by',
    show: ({ fact }) =>
      fact.isFromAdmin ? (
        <>
          {fact.creator} <span class="muted">(administrator)</span>
        </>
      ) : (
        fact.creator
      ),
  },
];
