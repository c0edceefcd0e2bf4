// The dialog that saves a memory: free text, or the fields of its kind.
import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { Button } from '../components/button.tsx';
import { Dialog } from '../components/dialog.tsx';
import { TextArea, TextField } from '../components/field.tsx';
import { Failure } from '../components/states.tsx';
import { toast } from '../components/toast.tsx';
import { useAction, useData } from '../lib/data.ts';
import { explain } from '../lib/errors.ts';
import { present } from '../lib/me.ts';
import { inOrder, KindFields, toData, type Values } from './kind-fields.tsx';
import { type Place, PlaceFields, useScopes } from './place-fields.tsx';
import { FREE_KINDS, kindsQuery, saveMutation, storeMutation } from './query.ts';

const LAST_PROJECT = 'l9-memory.project';

interface NewMemoryProps {
  onClose: () => void;
  onSaved?: () => void;
  /** Text to begin with. */
  text?: string;
}

export function NewMemory({ onClose, onSaved, text = '' }: NewMemoryProps) {
  const [, navigate] = useLocation();
  const { writable, needsProject } = useScopes();
  const kinds = present(useData(kindsQuery, {}).data?.memoryKinds?.nodes);
  const [kind, setKind] = useState('note');
  const [content, setContent] = useState(text);
  const [values, setValues] = useState<Values>({});
  const [tags, setTags] = useState('');
  const [place, setPlace] = useState<Place>(() => ({
    scope: writable[0] ?? '',
    project: localStorage.getItem(LAST_PROJECT) ?? '',
  }));
  const [problem, setProblem] = useState<{ field: string; text: string } | null>(null);
  const save = useAction(saveMutation);
  const store = useAction(storeMutation);
  const fields = inOrder(kinds.find((one) => one.kind === kind)?.fields.nodes ?? []);
  const error = save.error ?? store.error;
  const explained = error && explain(error);
  const problemOf = (field: string) =>
    problem?.field === field ? problem.text : explained?.field === field ? explained.text : null;

  const common = () => ({
    kind,
    scope: place.scope,
    ...(needsProject(place.scope) ? { projectId: place.project.trim() } : {}),
    tags: tags.split(/[\s,]+/).filter(Boolean),
  });

  const done = (status: string, packetId: string | undefined) => {
    if (place.project) localStorage.setItem(LAST_PROJECT, place.project.trim());
    toast(status === 'skipped_dedupe' ? 'The same is there already; this is it' : 'Memory saved');
    onSaved?.();
    onClose();
    if (packetId) navigate(`/memories/${packetId}`);
  };

  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    setProblem(null);
    if (fields.length === 0) {
      const answer = await save.run({ input: { ...common(), content } });
      if (answer?.saveMemory) done(answer.saveMemory.status, answer.saveMemory.memory?.packetId);
      return;
    }
    try {
      const answer = await store.run({ items: [{ ...common(), data: toData(fields, values) }] });
      const [refused] = answer?.memoryStore?.errors ?? [];
      const [stored] = answer?.memoryStore?.stored ?? [];
      if (refused) setProblem({ field: (refused.field ?? '').replace(/^data\./, ''), text: refused.message });
      else if (stored) done(stored.status, stored.memory?.packetId);
    } catch (failure) {
      if (!(failure instanceof SyntaxError)) throw failure;
      setProblem({ field: failure.message.split(':')[0]!, text: failure.message });
    }
  };

  const isShown = (field: string) =>
    ['scope', 'projectId', 'content', 'kind', 'tags'].includes(field) || fields.some((one) => one.field === field);
  return (
    <Dialog
      title="New memory"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" form="new-memory" isBusy={save.isBusy || store.isBusy}>
            Save
          </Button>
        </>
      }
    >
      <form id="new-memory" class="form" noValidate onSubmit={submit}>
        <TextField
          label="Kind"
          value={kind}
          list={[...FREE_KINDS, ...kinds.map((one) => one.kind)]}
          hint={
            kinds.find((one) => one.kind === kind)?.purpose ??
            'Free text. Other kinds, such as decision or todo, have fields.'
          }
          problem={problemOf('kind')}
          onInput={setKind}
        />
        {fields.length === 0 ? (
          <TextArea label="Text" isRequired value={content} problem={problemOf('content')} onInput={setContent} />
        ) : (
          <KindFields fields={fields} values={values} onChange={setValues} problemOf={problemOf} />
        )}
        <PlaceFields place={place} onChange={setPlace} problemOf={problemOf} />
        <TextField
          label="Tags"
          value={tags}
          problem={problemOf('tags')}
          onInput={setTags}
          hint="With spaces or commas between them."
        />
        {error && !(explained?.field && isShown(explained.field)) && <Failure error={error} />}
        {problem && !isShown(problem.field) && (
          <p class="problem-text" role="alert">
            {problem.text}
          </p>
        )}
      </form>
    </Dialog>
  );
}
