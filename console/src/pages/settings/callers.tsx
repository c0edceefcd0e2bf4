// Who calls: agents and people, the scopes that they read and write, and how much they may call.
import { useState } from 'preact/hooks';
import { Chip } from '../../components/chip.tsx';
import { type Column, List } from '../../components/list.tsx';
import { Failure, Ready } from '../../components/states.tsx';
import { toast } from '../../components/toast.tsx';
import { useAction, useData } from '../../lib/data.ts';
import { formatNumber } from '../../lib/format.ts';
import { present, useMe } from '../../lib/me.ts';
import { CallerForm } from './caller-form.tsx';
import { type Caller, callersQuery, deactivateActor, reactivateActor } from './query.ts';
import { Change, names, Section } from './section.tsx';

export function Callers() {
  const callers = useData(callersQuery, {});
  const me = useMe();
  const [edited, setEdited] = useState<Caller | 'new' | null>(null);
  const deactivating = useAction(deactivateActor);
  const reactivating = useAction(reactivateActor);
  const toggle = async ({ caller, isActive }: Caller) => {
    const action = isActive ? deactivating : reactivating;
    if (await action.run({ caller })) {
      toast(isActive ? `${caller} is refused from now on` : `${caller} is admitted again`);
      callers.refresh();
    }
  };
  const error = deactivating.error ?? reactivating.error;
  const columns: readonly Column<Caller>[] = [
    {
      name: 'caller',
      title: 'Caller',
      isMain: true,
      show: ({ caller, creator }) => (
        <>
          <strong>{caller}</strong> <span class="muted">signs as {creator}</span>
        </>
      ),
    },
    {
      name: 'role',
      title: 'Role',
      show: ({ role, isActive }) =>
        isActive ? (
          <Chip tone={role === 'l9_agent' ? 'plain' : 'info'}>{role.replace('l9_', '')}</Chip>
        ) : (
          <Chip tone="bad">switched off</Chip>
        ),
    },
    { name: 'reads', title: 'Reads', show: ({ readableScopes }) => names(readableScopes) },
    { name: 'writes', title: 'Writes', show: ({ writableScopes }) => names(writableScopes) },
    {
      name: 'limits',
      title: 'A minute',
      isNumber: true,
      show: ({ readsPerMinute, writesPerMinute }) =>
        `${formatNumber(readsPerMinute)} / ${formatNumber(writesPerMinute)}`,
    },
    {
      name: 'change',
      title: '',
      show: (row) =>
        row.caller === me.caller ? (
          <span class="muted">you</span>
        ) : (
          <>
            <Change onClick={() => setEdited(row)}>Change</Change>
            <Change onClick={() => toggle(row)}>{row.isActive ? 'Switch off' : 'Switch on'}</Change>
          </>
        ),
    },
  ];
  return (
    <Section
      title="Callers"
      about="An agent or person that has a key. What one saves is signed with its creator, which never changes."
      adds="New caller"
      onAdd={() => setEdited('new')}
    >
      {error && <Failure error={error} />}
      <Ready of={callers}>
        {({ admin }) =>
          admin && <List caption="Callers" columns={columns} rows={admin.actors ?? []} keyOf={({ caller }) => caller} />
        }
      </Ready>
      {edited && (
        <CallerForm
          caller={edited === 'new' ? null : edited}
          scopes={present(callers.data?.scopes?.nodes).map(({ scope }) => scope)}
          onClose={() => setEdited(null)}
          onSaved={callers.refresh}
        />
      )}
    </Section>
  );
}
