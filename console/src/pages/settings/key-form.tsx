// The dialog that makes a key, and the one that shows it, once.
import { Button } from '../../components/button.tsx';
import { copyText } from '../../components/copy.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Select, TextField } from '../../components/field.tsx';
import { FormDialog, useForm } from '../../components/form.tsx';
import { icons } from '../../components/icon.tsx';
import { useAction } from '../../lib/data.ts';
import { fromLocalInput } from '../../lib/format.ts';
import { listOf, textOf } from '../../lib/typed.ts';
import { createKey } from './query.ts';

interface KeyFormProps {
  callers: readonly string[];
  /** The project that the key is limited to, unless that is changed. */
  project?: string;
  onClose: () => void;
  onMade: (key: string) => void;
}

export function KeyForm({ callers, project = '', onClose, onMade }: KeyFormProps) {
  const action = useAction(createKey);
  const form = useForm(
    {
      caller: '',
      name: '',
      scopes: '',
      projects: project,
      defaultProject: '',
      toolSets: '',
      expiresAt: '',
    },
    action,
  );
  // The list may come after the form.
  const caller = form.values.caller || callers[0] || '';
  const submit = async () => {
    const { name, scopes, projects, defaultProject, toolSets, expiresAt } = form.values;
    const answer = await action.run({
      caller,
      name: name.trim(),
      scopes: listOf(scopes),
      projects: listOf(projects),
      defaultProject: textOf(defaultProject),
      toolSets: listOf(toolSets),
      expiresAt: fromLocalInput(expiresAt) || null,
    });
    const key = answer?.admin?.createApiKey?.apiKey;
    if (key) onMade(key);
    return Boolean(key);
  };
  return (
    <FormDialog title="New key" does="Make the key" form={form} onSubmit={submit} onClose={onClose}>
      <Select label="Caller" options={callers} {...form.choice('caller')} value={caller} />
      <TextField label="What it is for" isRequired hint="Such as: laptop of Anna." {...form.text('name')} />
      <div class="form-row">
        <TextField label="Only these scopes" hint="Empty: all of its caller." {...form.text('scopes')} />
        <TextField label="Only these projects" hint="Empty: all." {...form.text('projects')} />
      </div>
      <div class="form-row">
        <TextField
          label="Default project"
          hint="Of what it saves without naming one. Empty: its only project, if it has just one."
          {...form.text('defaultProject')}
        />
        <TextField
          label="Only these tool sets"
          hint="Such as core, knowledge. Empty: all."
          {...form.text('toolSets')}
        />
      </div>
      <TextField label="Expires" type="datetime-local" hint="Empty: never." {...form.text('expiresAt')} />
    </FormDialog>
  );
}

export function ShownOnce({ secret, onClose }: { secret: string; onClose: () => void }) {
  return (
    <Dialog
      title="The new key"
      onClose={onClose}
      actions={
        <Button look="primary" onClick={onClose}>
          I have kept it
        </Button>
      }
    >
      <p>Copy it now: it is not shown again, and nobody can read it from the database.</p>
      <p class="secret">
        <code>{secret}</code>
        <Button icon={icons.copy} onClick={() => void copyText(secret, 'Key')}>
          Copy
        </Button>
      </p>
    </Dialog>
  );
}
