// Corrects a memory that counts: what it says, its tags and importance, and where it belongs.
import { useState } from 'preact/hooks';
import { TextField } from '../components/field.tsx';
import { toast } from '../components/toast.tsx';
import { useAction } from '../lib/data.ts';
import { present } from '../lib/me.ts';
import { CorrectDialog, type Correction } from './correct-dialog.tsx';
import { type Place, PlaceFields, useScopes } from './place-fields.tsx';
import { updateMutation } from './query.ts';

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
  const { needsProject } = useScopes();
  const formerTags = present(memory.tags).join(' ');
  const [tags, setTags] = useState(formerTags);
  const [importance, setImportance] = useState(String(memory.estimatedImportance));
  const [place, setPlace] = useState<Place>({ scope: memory.scope, project: memory.projectId ?? '' });
  const update = useAction(updateMutation);

  const changesOf = ({ text, fields }: Correction) => {
    const list = tags.split(/[\s,]+/).filter(Boolean);
    const project = needsProject(place.scope) ? place.project.trim() : '';
    return {
      ...(text === undefined ? {} : { content: text }),
      ...(fields ? { envelope: fields } : {}),
      ...(list.length > 0 && list.join(' ') !== formerTags ? { tags: list } : {}),
      ...(list.length === 0 && formerTags ? { clear: ['tags'] } : {}),
      ...(importance !== String(memory.estimatedImportance) && importance !== ''
        ? { importance: Number(importance) }
        : {}),
      ...(place.scope !== memory.scope ? { scope: place.scope } : {}),
      ...(project && project !== memory.projectId ? { projectId: project } : {}),
    };
  };
  const save = async (correction: Correction) => {
    const changed = changesOf(correction);
    if (Object.keys(changed).length === 0) return true;
    const input = { packetId: memory.packetId, expectedVersion: memory.updatedAt, ...changed };
    if (!(await update.run({ input }))) return false;
    toast('Memory changed');
    onSaved();
    return true;
  };
  return (
    <CorrectDialog
      title="Edit memory"
      does="Save"
      memory={memory}
      isBusy={update.isBusy}
      error={update.error}
      onSave={save}
      onClose={onClose}
    >
      {(problemOf) => (
        <>
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
        </>
      )}
    </CorrectDialog>
  );
}
