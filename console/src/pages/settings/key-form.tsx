// The dialog that makes a key, and the one that shows it, once.
import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { copyText } from '../../components/copy.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Select, TextField } from '../../components/field.tsx';
import { icons } from '../../components/icon.tsx';
import { useAction } from '../../lib/data.ts';
import { fromLocalInput } from '../../lib/format.ts';
import { FormDialog, listOf } from './form-dialog.tsx';
import { createKey } from './query.ts';

export function KeyForm({
  callers,
  onClose,
  onMade,
}: {
  callers: readonly string[];
  onClose: () => void;
  onMade: (key: string) => void;
}) {
  const [caller, setCaller] = useState(callers[0] ?? '');
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState('');
  const [projects, setProjects] = useState('');
  const [tools, setTools] = useState('');
  const [expires, setExpires] = useState('');
  const action = useAction(createKey);
  const submit = async () => {
    const answer = await action.run({
      caller,
      name: name.trim(),
      scopes: listOf(scopes),
      projects: listOf(projects),
      toolSets: listOf(tools),
      expiresAt: fromLocalInput(expires) || null,
    });
    const key = answer?.admin?.createApiKey?.apiKey;
    if (!key) return false;
    onMade(key);
    return true;
  };
  return (
    <FormDialog
      title="New key"
      does="Make the key"
      action={action}
      onSubmit={submit}
      onClose={onClose}
      isDisabled={!name.trim()}
    >
      {(problemOf) => (
        <>
          <Select label="Caller" value={caller} onChange={setCaller} options={callers} problem={problemOf('caller')} />
          <TextField
            label="What it is for"
            isRequired
            value={name}
            onInput={setName}
            problem={problemOf('name')}
            hint="Such as: laptop of Anna."
          />
          <div class="form-row">
            <TextField
              label="Only these scopes"
              value={scopes}
              onInput={setScopes}
              problem={problemOf('scopes')}
              hint="Empty: all of its caller."
            />
            <TextField
              label="Only these projects"
              value={projects}
              onInput={setProjects}
              problem={problemOf('projects')}
              hint="Empty: all."
            />
          </div>
          <div class="form-row">
            <TextField
              label="Only these tool sets"
              value={tools}
              onInput={setTools}
              problem={problemOf('toolSets')}
              hint="Such as core, knowledge. Empty: all."
            />
            <TextField
              label="Expires"
              type="datetime-local"
              value={expires}
              onInput={setExpires}
              problem={problemOf('expiresAt')}
              hint="Empty: never."
            />
          </div>
        </>
      )}
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
