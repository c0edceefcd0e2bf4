// Where a person begins who names no entity: the relations that are most certain.
import { Link } from 'wouter-preact';
import { Scope } from '../../components/chip.tsx';
import { type Column, List } from '../../components/list.tsx';
import { Empty, Ready } from '../../components/states.tsx';
import { useData } from '../../lib/data.ts';
import { present } from '../../lib/me.ts';
import { typeText } from './model.ts';
import { type Relation, relationsOfEntity } from './query.ts';

const around = (entity: string) => `/facts/graph?entity=${encodeURIComponent(entity)}`;

const columns: readonly Column<Relation>[] = [
  {
    name: 'relation',
    title: 'Relation',
    isMain: true,
    show: ({ sourceEntity, relationshipType, targetEntity }) => (
      <span class="statement">
        <Link href={around(sourceEntity)}>{sourceEntity}</Link>{' '}
        <span class="predicate">{typeText(relationshipType)}</span>{' '}
        <Link href={around(targetEntity)}>{targetEntity}</Link>
      </span>
    ),
  },
  {
    name: 'confidence',
    title: 'Confidence',
    isNumber: true,
    show: ({ confidence }) => `${Math.round(confidence * 100)} %`,
  },
  { name: 'scope', title: 'Scope', show: ({ scope }) => <Scope name={scope} /> },
  { name: 'creator', title: 'Stated by', show: ({ creator }) => creator },
];

export function StartingPoints() {
  const relations = useData(relationsOfEntity, { first: 50 });
  return (
    <Ready of={relations}>
      {({ entityRelationships }) => {
        const rows = present(entityRelationships?.nodes);
        return rows.length === 0 ? (
          <Empty title="No relations yet">
            Agents state relations with relate; a chat model can extract them from memories.
          </Empty>
        ) : (
          <section aria-labelledby="certain">
            <h2 id="certain" class="part-title">
              The most certain relations
            </h2>
            <List
              caption="The most certain relations"
              columns={columns}
              rows={rows}
              keyOf={({ relationshipId }) => relationshipId}
              hrefOf={({ sourceEntity }) => around(sourceEntity)}
            />
          </section>
        );
      }}
    </Ready>
  );
}
