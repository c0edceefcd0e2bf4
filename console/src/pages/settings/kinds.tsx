// Kinds of memories, and their fields.
import { useState } from 'preact/hooks';
import { Chip } from '../../components/chip.tsx';
import { type Column, List } from '../../components/list.tsx';
import { Ready } from '../../components/states.tsx';
import { useData } from '../../lib/data.ts';
import { present } from '../../lib/me.ts';
import { KindForm } from './kind-form.tsx';
import { type KindRow, kindRulesQuery } from './query.ts';
import { Change, Section } from './section.tsx';

function leaves({ archivedFrom, archivedAfter, expiresFrom, expiresAfter }: KindRow): string {
  const parts = [
    archivedFrom && `archived ${archivedAfter} after ${archivedFrom}`,
    expiresFrom && `expires ${expiresAfter} after ${expiresFrom}`,
  ];
  return parts.filter(Boolean).join(', ');
}

export function Kinds() {
  const kinds = useData(kindRulesQuery, {});
  const [edited, setEdited] = useState<KindRow | 'new' | null>(null);
  const columns: readonly Column<KindRow>[] = [
    {
      name: 'kind',
      title: 'Kind',
      isMain: true,
      show: ({ kind, purpose }) => (
        <>
          <strong>{kind}</strong> <span class="muted">{purpose}</span>
        </>
      ),
    },
    { name: 'fields', title: 'Fields', isNumber: true, show: ({ fields }) => fields.nodes.length },
    { name: 'title', title: 'Title', show: ({ titleField }) => titleField },
    { name: 'leaves', title: 'Leaves', show: (row) => leaves(row) },
    {
      name: 'owner',
      title: 'From',
      show: ({ tenantId }) => (tenantId ? <Chip tone="info">yours</Chip> : <Chip>built in</Chip>),
    },
    {
      name: 'change',
      title: '',
      show: (row) => row.tenantId && <Change onClick={() => setEdited(row)}>Change</Change>,
    },
  ];
  return (
    <Section
      title="Kinds"
      about="Any name is a kind. One that stands here has fields and rules, which a save obeys."
      adds="New kind"
      onAdd={() => setEdited('new')}
    >
      <Ready of={kinds}>
        {({ memoryKinds }) => (
          <List caption="Kinds" columns={columns} rows={present(memoryKinds?.nodes)} keyOf={({ kindId }) => kindId} />
        )}
      </Ready>
      {edited && (
        <KindForm row={edited === 'new' ? null : edited} onClose={() => setEdited(null)} onSaved={kinds.refresh} />
      )}
    </Section>
  );
}
