// A form in a dialog. It closes once what it sends is accepted; else it says what is wrong, at the field if the error names one.
import type { CombinedError } from '@urql/preact';
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Failure } from '../../components/states.tsx';
import { explain } from '../../lib/errors.ts';

interface FormDialogProps {
  title: string;
  /** What its button does, as a verb. */
  does: string;
  action: { isBusy: boolean; error: CombinedError | undefined };
  /** True if it was accepted. */
  onSubmit: () => Promise<boolean>;
  onClose: () => void;
  isDisabled?: boolean;
  /** Gets the function that says what is wrong with a field. */
  children: (problemOf: (field: string) => string | null) => ComponentChildren;
}

export function FormDialog({ title, does, action, onSubmit, onClose, isDisabled, children }: FormDialogProps) {
  const id = useId();
  const asked = new Set<string>();
  const explained = action.error && explain(action.error);
  const problemOf = (field: string) => {
    asked.add(field);
    return explained?.field === field ? explained.text : null;
  };
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (await onSubmit()) onClose();
  };
  const fields = children(problemOf);
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" form={id} isBusy={action.isBusy} isDisabled={isDisabled ?? false}>
            {does}
          </Button>
        </>
      }
    >
      <form id={id} class="form" noValidate onSubmit={submit}>
        {fields}
        {action.error && !asked.has(explained?.field ?? '') && <Failure error={action.error} />}
      </form>
    </Dialog>
  );
}

/** What was typed as a list, with commas or spaces between; null if nothing was. */
export function listOf(text: string): string[] | null {
  const list = text.split(/[\s,]+/).filter(Boolean);
  return list.length > 0 ? list : null;
}

export const textOf = (text: string): string | null => text.trim() || null;
export const numberOf = (text: string): number | null => (text.trim() === '' ? null : Number(text));
