// The dialog that corrects a memory: its text or the fields of its kind, tags, importance, and where it belongs.
import { useState } from 'preact/hooks';
import { Button } from '../components/button.tsx';
import { Dialog } from '../components/dialog.tsx';
import { TextArea, TextField } from '../components/field.tsx';
import { Failure } from '../components/states.tsx';
import { toast } from '../components/toast.tsx';
import { useAction, useData } from '../lib/data.ts';
import { explain } from '../lib/errors.ts';
import { present } from '../lib/me.ts';
import { inOrder, KindFields, toData, toValues } from './kind-fields.tsx';
import { type Place, PlaceFields, useScopes } from './place-fields.tsx';
import { kindsQuery, updateMutation } from './query.ts';

export interface Editable {
  packetId: string;
  content: string | null;
  kind: string;
  scope: string;
  projectId: string | null;
  tags: readonly (string | null)[];
  envelope: Record<string, unknown>;
  estimatedImportance: number;
  updatedAt: string;
}

interface EditMemoryProps {
  memory: Editable;
  onClose: () => void;
  onSaved: () => void;
}

export function EditMemory({ memory, onClose, onSaved }: EditMemoryProps) {
  const { data } = useData(kindsQuery, {});
  if (!data) return null;
  const kind = present(data.memoryKinds?.nodes).find((one) => one.kind === memory.kind);
  return <EditForm memory={memory} fields={inOrder(kind?.fields.nodes ?? [])} onClose={onClose} onSaved={onSaved} />;
}

function EditForm({ memory, fields, onClose, onSaved }: EditMemoryProps & { fields: ReturnType<typeof inOrder> }) {
  const { needsProject } = useScopes();
  const [content, setContent] = useState(memory.content ?? '');
  const [values, setValues] = useState(() => toValues(fields, memory.envelope));
  const [tags, setTags] = useState(present(memory.tags).join(' '));
  const [importance, setImportance] = useState(String(memory.estimatedImportance));
  const [place, setPlace] = useState<Place>({ scope: memory.scope, project: memory.projectId ?? '' });
  const [isNotJson, setNotJson] = useState('');
  const update = useAction(updateMutation);
  const explained = update.error && explain(update.error);
  const problemOf = (field: string) =>
    isNotJson.startsWith(`${field}:`) ? isNotJson : explained?.field === field ? explained.text : null;

  /** Only what was changed: the rest may have been changed by somebody else, and rules of the kind may lock it. */
  const changes = () => {
    const list = tags.split(/[\s,]+/).filter(Boolean);
    const data = fields.length > 0 ? toData(fields, values) : null;
    const before = JSON.stringify(toData(fields, toValues(fields, memory.envelope)));
    const clear = [...(list.length === 0 && memory.tags.length > 0 ? ['tags'] : [])];
    const project = needsProject(place.scope) ? place.project.trim() : '';
    return {
      ...(data === null && content !== memory.content ? { content } : {}),
      ...(data !== null && JSON.stringify(data) !== before ? { envelope: data } : {}),
      ...(list.length > 0 && list.join(' ') !== present(memory.tags).join(' ') ? { tags: list } : {}),
      ...(importance !== String(memory.estimatedImportance) && importance !== ''
        ? { importance: Number(importance) }
        : {}),
      ...(place.scope !== memory.scope ? { scope: place.scope } : {}),
      ...(project && project !== memory.projectId ? { projectId: project } : {}),
      ...(clear.length > 0 ? { clear } : {}),
    };
  };

  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    setNotJson('');
    try {
      const changed = changes();
      if (Object.keys(changed).length === 0) return onClose();
      const answer = await update.run({
        input: { packetId: memory.packetId, expectedVersion: memory.updatedAt, ...changed },
      });
      if (!answer) return;
      toast('Memory changed');
      onSaved();
      onClose();
    } catch (failure) {
      if (!(failure instanceof SyntaxError)) throw failure;
      setNotJson(failure.message);
    }
  };

  return (
    <Dialog
      title="Edit memory"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" form="edit-memory" isBusy={update.isBusy}>
            Save
          </Button>
        </>
      }
    >
      <form id="edit-memory" class="form" noValidate onSubmit={submit}>
        {fields.length === 0 ? (
          <TextArea
            label="Text"
            isRequired
            rows={8}
            value={content}
            problem={problemOf('content')}
            onInput={setContent}
          />
        ) : (
          <KindFields fields={fields} values={values} onChange={setValues} problemOf={problemOf} />
        )}
        <PlaceFields place={place} onChange={setPlace} problemOf={problemOf} />
        <div class="form-row">
          <TextField label="Tags" value={tags} problem={problemOf('tags')} onInput={setTags} />
          <TextField
            label="Importance"
            type="number"
            min={0}
            max={1}
            step={0.05}
            value={importance}
            problem={problemOf('importance')}
            onInput={setImportance}
          />
        </div>
        {update.error && <Failure error={update.error} />}
      </form>
    </Dialog>
  );
}
