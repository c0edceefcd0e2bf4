// The dialog that registers a caller, or changes one.
import { TextField } from '../../components/field.tsx';
import { FormDialog, useForm } from '../../components/form.tsx';
import { toast } from '../../components/toast.tsx';
import { useAction } from '../../lib/data.ts';
import { present } from '../../lib/me.ts';
import { listOf, numberOf, textOf } from '../../lib/typed.ts';
import { type Caller, registerActor } from './query.ts';

interface CallerFormProps {
  caller: Caller | null;
  scopes: readonly string[];
  onClose: () => void;
  onSaved: () => void;
}

export function CallerForm({ caller: row, scopes, onClose, onSaved }: CallerFormProps) {
  const action = useAction(registerActor);
  const form = useForm(
    {
      caller: row?.caller ?? '',
      readableScopes: present(row?.readableScopes ?? ['developer', 'global']).join(', '),
      writableScopes: present(row?.writableScopes ?? ['developer', 'global']).join(', '),
      defaultProject: row?.defaultProject ?? '',
      readsPerMinute: row ? String(row.readsPerMinute) : '',
      writesPerMinute: row ? String(row.writesPerMinute) : '',
    },
    action,
  );
  const submit = async () => {
    const { caller, readableScopes, writableScopes, defaultProject, readsPerMinute, writesPerMinute } = form.values;
    const answer = await action.run({
      caller: caller.trim(),
      readableScopes: listOf(readableScopes) ?? [],
      writableScopes: listOf(writableScopes) ?? [],
      // An empty text removes it.
      defaultProject: row ? defaultProject.trim() : textOf(defaultProject),
      readsPerMinute: numberOf(readsPerMinute),
      writesPerMinute: numberOf(writesPerMinute),
    });
    if (!answer?.admin?.registerActor) return false;
    toast(row ? `${caller} is changed` : `${caller} is registered; make a key for it`);
    onSaved();
    return true;
  };
  return (
    <FormDialog
      title={row ? `Change ${row.caller}` : 'New caller'}
      does={row ? 'Change' : 'Register'}
      form={form}
      onSubmit={submit}
      onClose={onClose}
    >
      {!row && (
        <TextField
          label="Name"
          isRequired
          hint="Such as claude-code. It gets the rights of an agent."
          {...form.text('caller')}
        />
      )}
      <TextField
        label="Scopes it reads"
        hint={`Of ${scopes.join(', ')}. * is every scope, present and future.`}
        {...form.text('readableScopes')}
      />
      <TextField label="Scopes it writes" {...form.text('writableScopes')} />
      <TextField label="Default project" hint="Of what it saves without naming one." {...form.text('defaultProject')} />
      <div class="form-row">
        <TextField label="Reads" unit="a minute" type="number" min={1} step={1} {...form.text('readsPerMinute')} />
        <TextField label="Writes" unit="a minute" type="number" min={1} step={1} {...form.text('writesPerMinute')} />
      </div>
    </FormDialog>
  );
}
