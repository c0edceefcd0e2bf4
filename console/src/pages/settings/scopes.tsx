// Scopes, which decide who sees a memory, and the projects that there are.
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { Chip, Scope } from '../../components/chip.tsx';
import { Check, TextField } from '../../components/field.tsx';
import { type Column, List } from '../../components/list.tsx';
import { Empty, Ready } from '../../components/states.tsx';
import { toast } from '../../components/toast.tsx';
import { useAction, useData } from '../../lib/data.ts';
import { explain } from '../../lib/errors.ts';
import { formatNumber } from '../../lib/format.ts';
import { present } from '../../lib/me.ts';
import { FormDialog, textOf } from './form-dialog.tsx';
import {
  callersQuery,
  deactivateScope,
  projectsQuery,
  reactivateScope,
  registerScope,
  type ScopeRow,
} from './query.ts';
import { Change, Section } from './section.tsx';

export function Scopes() {
  const data = useData(callersQuery, {});
  const [isAdding, setAdding] = useState(false);
  const deactivating = useAction(deactivateScope);
  const reactivating = useAction(reactivateScope);
  const error = deactivating.error ?? reactivating.error;
  const toggle = async ({ scope, isActive }: ScopeRow) => {
    if (await (isActive ? deactivating : reactivating).run({ scope })) data.refresh();
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
      show: (row) => <Change onClick={() => void toggle(row)}>{row.isActive ? 'Switch off' : 'Switch on'}</Change>,
    },
  ];
  return (
    <Section
      title="Scopes"
      about="A scope decides who sees a memory, never its author. Callers say which scopes they read and write. In one that is switched off nobody reads or writes; its memories are kept."
      adds="New scope"
      onAdd={() => setAdding(true)}
    >
      {error && (
        <p class="problem-text" role="alert">
          {explain(error).text}
        </p>
      )}
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
  const [scope, setScope] = useState('');
  const [description, setDescription] = useState('');
  const [isOfProjects, setOfProjects] = useState(true);
  const action = useAction(registerScope);
  const submit = async () => {
    const answer = await action.run({
      scope: scope.trim(),
      description: textOf(description),
      isProjectScoped: isOfProjects,
    });
    if (!answer?.admin?.registerScope) return false;
    toast(`${scope} is added. Callers read it once you say so.`);
    onSaved();
    return true;
  };
  return (
    <FormDialog
      title="New scope"
      does="Add"
      action={action}
      onSubmit={submit}
      onClose={onClose}
      isDisabled={!scope.trim()}
    >
      {(problemOf) => (
        <>
          <TextField
            label="Name"
            isRequired
            value={scope}
            onInput={setScope}
            problem={problemOf('scope')}
            hint="Such as design. At first only callers with every scope read it."
          />
          <TextField
            label="What it is for"
            value={description}
            onInput={setDescription}
            problem={problemOf('description')}
          />
          <Check label="Its memories belong to a project" isOn={isOfProjects} onChange={setOfProjects} />
        </>
      )}
    </FormDialog>
  );
}

export function Projects() {
  const stats = useData(projectsQuery, {});
  return (
    <Section
      title="Projects"
      about="A project exists as soon as something is saved in it. Keys and tokens may be limited to some."
    >
      <Ready of={stats}>
        {({ getMemoryStats }) => {
          const rows = Object.entries((getMemoryStats?.byProject ?? {}) as Record<string, number>).sort(
            (a, b) => b[1] - a[1],
          );
          if (rows.length === 0) return <Empty title="No projects yet" />;
          return (
            <List
              caption="Projects"
              columns={[
                {
                  name: 'project',
                  title: 'Project',
                  isMain: true,
                  show: ([project]: [string, number]) => (
                    <Link href={`/memories?project=${encodeURIComponent(project)}`}>{project}</Link>
                  ),
                },
                { name: 'memories', title: 'Memories', isNumber: true, show: ([, count]) => formatNumber(count) },
              ]}
              rows={rows}
              keyOf={([project]) => project}
            />
          );
        }}
      </Ready>
    </Section>
  );
}
