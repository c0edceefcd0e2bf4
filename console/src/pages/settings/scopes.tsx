// Scopes, which decide who sees a memory.
import { useState } from 'preact/hooks';
import { Check } from '../../components/check.tsx';
import { Chip, Scope } from '../../components/chip.tsx';
import { TextField } from '../../components/field.tsx';
import { FormDialog, useForm } from '../../components/form.tsx';
import { type Column, List } from '../../components/list.tsx';
import { Failure, Ready } from '../../components/states.tsx';
import { toast } from '../../components/toast.tsx';
import { useAction, useData } from '../../lib/data.ts';
import { present } from '../../lib/me.ts';
import { textOf } from '../../lib/typed.ts';
import { callersQuery, deactivateScope, reactivateScope, registerScope, type ScopeRow } from './query.ts';
import { Change, Section } from './section.tsx';

export function Scopes() {
  const data = useData(callersQuery, {});
  const [isAdding, setAdding] = useState(false);
  const deactivating = useAction(deactivateScope);
  const reactivating = useAction(reactivateScope);
  const error = deactivating.error ?? reactivating.error;
  const toggle = async ({ scope, isActive }: ScopeRow) => {
    if (!(await (isActive ? deactivating : reactivating).run({ scope }))) return;
    toast(isActive ? `Nobody reads or writes in ${scope} from now on` : `${scope} is in use again`);
    data.refresh();
  };
  const columns: readonly Column<ScopeRow>[] = [
    {
      name: 'scope',
      title: 'Scope',
      isMain: true,
      show: ({ scope, description }) => (
        <>
          <Scope name={scope} /> {description}
        </>
      ),
    },
    {
      name: 'projects',
      title: 'Belongs to',
      show: ({ isProjectScoped }) => (isProjectScoped ? 'a project' : 'no project'),
    },
    {
      name: 'state',
      title: 'State',
      show: ({ isActive }) => (isActive ? <Chip tone="good">in use</Chip> : <Chip tone="bad">switched off</Chip>),
    },
    {
      name: 'change',
      title: '',
      show: (row) => <Change onClick={() => toggle(row)}>{row.isActive ? 'Switch off' : 'Switch on'}</Change>,
    },
  ];
  return (
    <Section
      title="Scopes"
      about="A scope decides who sees a memory, never its author. Callers say which scopes they read and write. In one that is switched off nobody reads or writes; its memories are kept."
      adds="New scope"
      onAdd={() => setAdding(true)}
    >
      {error && <Failure error={error} />}
      <Ready of={data}>
        {({ scopes }) => (
          <List caption="Scopes" columns={columns} rows={present(scopes?.nodes)} keyOf={({ scope }) => scope} />
        )}
      </Ready>
      {isAdding && <ScopeForm onClose={() => setAdding(false)} onSaved={data.refresh} />}
    </Section>
  );
}

function ScopeForm({ onClose, onSaved }: { onClose: () => void; onSaved: () => void }) {
  const action = useAction(registerScope);
  const form = useForm({ scope: '', description: '', isProjectScoped: true }, action);
  const submit = async () => {
    const { scope, description, isProjectScoped } = form.values;
    const answer = await action.run({ scope: scope.trim(), description: textOf(description), isProjectScoped });
    if (!answer?.admin?.registerScope) return false;
    toast(`${scope} is added. Callers read it once you say so.`);
    onSaved();
    return true;
  };
  return (
    <FormDialog title="New scope" does="Add" form={form} onSubmit={submit} onClose={onClose}>
      <TextField
        label="Name"
        isRequired
        hint="Such as design. At first only callers with every scope read it."
        {...form.text('scope')}
      />
      <TextField label="What it is for" {...form.text('description')} />
      <Check label="Its memories belong to a project" {...form.tick('isProjectScoped')} />
    </FormDialog>
  );
}
