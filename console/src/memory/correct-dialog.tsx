// The dialog that corrects a memory: its text or the fields of its kind, and whatever else its user puts below them.
import type { CombinedError } from '@urql/preact';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from '../components/button.tsx';
import { Dialog } from '../components/dialog.tsx';
import { TextArea } from '../components/field.tsx';
import { Failure, Ready } from '../components/states.tsx';
import { useData } from '../lib/data.ts';
import { explain } from '../lib/errors.ts';
import { present } from '../lib/me.ts';
import { inOrder, KindFields, toData, toValues } from './kind-fields.tsx';
import { type KindField, kindsQuery } from './query.ts';

/** What was changed. A field that was emptied is null, which removes it. */
export interface Correction {
  text?: string;
  fields?: Record<string, unknown>;
}

interface CorrectDialogProps {
  title: string;
  /** What its button does, as a verb. */
  does: string;
  memory: { content: string | null; kind: string; envelope: Record<string, unknown> };
  isBusy: boolean;
  error: CombinedError | undefined;
  /** Resolves to true once it is saved. */
  onSave: (correction: Correction) => Promise<boolean>;
  onClose: () => void;
  /** More fields. */
  children?: (problemOf: (field: string) => string | null) => ComponentChildren;
}

export function CorrectDialog(props: CorrectDialogProps) {
  const kinds = useData(kindsQuery, {});
  if (!kinds.data)
    return (
      <Dialog title={props.title} isWide onClose={props.onClose}>
        <Ready of={kinds} rows={3}>
          {() => null}
        </Ready>
      </Dialog>
    );
  const kind = present(kinds.data.memoryKinds?.nodes).find((one) => one.kind === props.memory.kind);
  return <Form {...props} fields={inOrder(kind?.fields.nodes ?? [])} />;
}

type FormProps = CorrectDialogProps & { fields: readonly KindField[] };

function Form({ title, does, memory, fields, isBusy, error, onSave, onClose, children }: FormProps) {
  const before = toValues(fields, memory.envelope);
  const [text, setText] = useState(memory.content ?? '');
  const [values, setValues] = useState(before);
  const [notJson, setNotJson] = useState('');
  const explained = error && explain(error);
  const problemOf = (field: string) =>
    notJson.startsWith(`${field}:`) ? notJson : explained?.field === field ? explained.text : null;

  /** The rest may have been changed by somebody else, and rules of the kind may lock it. */
  const correction = (): Correction => {
    if (fields.length === 0) return text === memory.content ? {} : { text };
    const [old, now] = [toData(fields, before), toData(fields, values)];
    const changed = fields.flatMap(({ field }): [string, unknown][] =>
      JSON.stringify(old[field]) === JSON.stringify(now[field]) ? [] : [[field, now[field] ?? null]],
    );
    return changed.length > 0 ? { fields: Object.fromEntries(changed) } : {};
  };
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    setNotJson('');
    try {
      if (await onSave(correction())) onClose();
    } catch (failure) {
      if (!(failure instanceof SyntaxError)) throw failure;
      setNotJson(failure.message);
    }
  };
  return (
    <Dialog
      title={title}
      isWide
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" form="correct" isBusy={isBusy}>
            {does}
          </Button>
        </>
      }
    >
      <form id="correct" class="form" noValidate onSubmit={submit}>
        {fields.length === 0 ? (
          <TextArea
            label="Text"
            isRequired
            rows={8}
            value={text}
            problem={problemOf('content') ?? problemOf('text')}
            onInput={setText}
          />
        ) : (
          <KindFields fields={fields} values={values} onChange={setValues} problemOf={problemOf} />
        )}
        {children?.(problemOf)}
        {error && <Failure error={error} />}
      </form>
    </Dialog>
  );
}
