// Corrects a memory and approves it, in one step.
import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { TextArea, TextField } from '../../components/field.tsx';
import { Failure, Loading } from '../../components/states.tsx';
import { useData } from '../../lib/data.ts';
import { present } from '../../lib/me.ts';
import { inOrder, KindFields, toData, toValues } from '../../memory/kind-fields.tsx';
import { kindsQuery } from '../../memory/query.ts';
import { type Item, wholeQuery } from './query.ts';
import type { Correction, Decisions } from './use-decisions.ts';

interface EditDialogProps {
  item: Item;
  decisions: Decisions;
  onClose: () => void;
}

interface Whole {
  content: string;
  title: string | null;
  envelope: Record<string, unknown>;
}

export function EditDialog(props: EditDialogProps) {
  const whole = useData(wholeQuery, { id: props.item.packetId });
  const kinds = useData(kindsQuery, {});
  const memory = whole.data?.memoryByPacketId;
  if (!memory || !kinds.data)
    return (
      <Dialog title="Correct and approve" onClose={props.onClose} isWide>
        {whole.error ? <Failure error={whole.error} /> : <Loading rows={3} />}
      </Dialog>
    );
  const kind = present(kinds.data.memoryKinds?.nodes).find((one) => one.kind === props.item.kind);
  return <EditForm {...props} whole={memory as Whole} fields={inOrder(kind?.fields.nodes ?? [])} />;
}

function EditForm({
  item,
  decisions,
  onClose,
  whole,
  fields,
}: EditDialogProps & { whole: Whole; fields: ReturnType<typeof inOrder> }) {
  const [text, setText] = useState(whole.content);
  const [title, setTitle] = useState(whole.title ?? '');
  const [values, setValues] = useState(() => toValues(fields, whole.envelope));
  const [problem, setProblem] = useState('');

  /** Only what was changed; a field that was emptied is removed. */
  const correction = (): Correction => {
    if (fields.length === 0)
      return { ...(text === whole.content ? {} : { text }), ...(title === (whole.title ?? '') ? {} : { title }) };
    const [before, after] = [toData(fields, toValues(fields, whole.envelope)), toData(fields, values)];
    const changed = fields.flatMap(({ field }): [string, unknown][] =>
      JSON.stringify(before[field]) === JSON.stringify(after[field]) ? [] : [[field, after[field] ?? null]],
    );
    return changed.length > 0 ? { fields: Object.fromEntries(changed) } : {};
  };
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    try {
      setProblem('');
      if (await decisions.approve(item, correction())) onClose();
    } catch (failure) {
      if (!(failure instanceof SyntaxError)) throw failure;
      setProblem(failure.message);
    }
  };
  return (
    <Dialog
      title="Correct and approve"
      onClose={onClose}
      isWide
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" form="correct" isBusy={decisions.isBusy}>
            Approve
          </Button>
        </>
      }
    >
      <form id="correct" class="form" noValidate onSubmit={submit}>
        {fields.length > 0 ? (
          <KindFields
            fields={fields}
            values={values}
            onChange={setValues}
            problemOf={(field) => (problem.startsWith(`${field}:`) ? problem : null)}
          />
        ) : (
          <>
            {whole.title !== null && <TextField label="Title" value={title} onInput={setTitle} />}
            <TextArea label="Text" rows={10} value={text} onInput={setText} />
          </>
        )}
        {decisions.error && <Failure error={decisions.error} />}
      </form>
    </Dialog>
  );
}
