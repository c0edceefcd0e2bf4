// Who calls: agents and people, the scopes that they read and write, and how much they may call.
import { useState } from 'preact/hooks';
import { Chip } from '../../components/chip.tsx';
import { TextField } from '../../components/field.tsx';
import { type Column, List } from '../../components/list.tsx';
import { Ready } from '../../components/states.tsx';
import { toast } from '../../components/toast.tsx';
import { useAction, useData } from '../../lib/data.ts';
import { explain } from '../../lib/errors.ts';
import { formatNumber } from '../../lib/format.ts';
import { present, useMe } from '../../lib/me.ts';
import { FormDialog, listOf, numberOf } from './form-dialog.tsx';
import { type Caller, callersQuery, deactivateActor, reactivateActor, registerActor } from './query.ts';
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
            <Change onClick={() => void toggle(row)}>{row.isActive ? 'Switch off' : 'Switch on'}</Change>
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
      {error && (
        <p class="problem-text" role="alert">
          {explain(error).text}
        </p>
      )}
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

interface CallerFormProps {
  caller: Caller | null;
  scopes: readonly string[];
  onClose: () => void;
  onSaved: () => void;
}

function CallerForm({ caller, scopes, onClose, onSaved }: CallerFormProps) {
  const [name, setName] = useState(caller?.caller ?? '');
  const [reads, setReads] = useState(present(caller?.readableScopes ?? ['developer', 'global']).join(', '));
  const [writes, setWrites] = useState(present(caller?.writableScopes ?? ['developer', 'global']).join(', '));
  const [project, setProject] = useState(caller?.defaultProject ?? '');
  const [readLimit, setReadLimit] = useState(caller ? String(caller.readsPerMinute) : '');
  const [writeLimit, setWriteLimit] = useState(caller ? String(caller.writesPerMinute) : '');
  const action = useAction(registerActor);
  const submit = async () => {
    const answer = await action.run({
      caller: name.trim(),
      readableScopes: listOf(reads) ?? [],
      writableScopes: listOf(writes) ?? [],
      // An empty text removes it.
      defaultProject: caller ? project.trim() : project.trim() || null,
      readsPerMinute: numberOf(readLimit),
      writesPerMinute: numberOf(writeLimit),
    });
    if (!answer?.admin?.registerActor) return false;
    toast(caller ? `${name} is changed` : `${name} is registered; make a key for it`);
    onSaved();
    return true;
  };
  const hint = `Of ${scopes.join(', ')}. * is every scope, present and future.`;
  return (
    <FormDialog
      title={caller ? `Change ${caller.caller}` : 'New caller'}
      does={caller ? 'Change' : 'Register'}
      action={action}
      onSubmit={submit}
      onClose={onClose}
      isDisabled={!name.trim()}
    >
      {(problemOf) => (
        <>
          {!caller && (
            <TextField
              label="Name"
              isRequired
              value={name}
              onInput={setName}
              problem={problemOf('caller')}
              hint="Such as claude-code. It gets the rights of an agent."
            />
          )}
          <TextField
            label="Scopes it reads"
            value={reads}
            onInput={setReads}
            problem={problemOf('readableScopes')}
            hint={hint}
          />
          <TextField
            label="Scopes it writes"
            value={writes}
            onInput={setWrites}
            problem={problemOf('writableScopes')}
          />
          <TextField
            label="Default project"
            value={project}
            onInput={setProject}
            problem={problemOf('defaultProject')}
            hint="Of what it saves without naming one."
          />
          <div class="form-row">
            <TextField
              label="Reads a minute"
              type="number"
              min={1}
              value={readLimit}
              onInput={setReadLimit}
              problem={problemOf('readsPerMinute')}
            />
            <TextField
              label="Writes a minute"
              type="number"
              min={1}
              value={writeLimit}
              onInput={setWriteLimit}
              problem={problemOf('writesPerMinute')}
            />
          </div>
        </>
      )}
    </FormDialog>
  );
}
