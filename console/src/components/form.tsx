// The state of a form, what its fields are given, and the dialog around it. Fields have the names of the API, so that an error stands
// beside the field that it names: <TextField label="Name" {...form.text('name')} />.
import type { CombinedError } from '@urql/preact';
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { explain } from '../lib/errors.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { Failure } from './states.tsx';

interface Problem {
  field: string;
  text: string;
}

type Named<Values, Type> = { [Name in keyof Values]: Values[Name] extends Type ? Name : never }[keyof Values] & string;

export interface Form<Values> {
  values: Values;
  set(part: Partial<Values>): void;
  text(name: Named<Values, string>): FieldOf & { onInput: (value: string) => void };
  choice(name: Named<Values, string>): FieldOf & { onChange: (value: string) => void };
  tick(name: Named<Values, boolean>): Omit<FieldOf, 'value'> & { isOn: boolean; onChange: (isOn: boolean) => void };
  /** What is wrong with a field that is none of the values. */
  problemOf(field: string): string | null;
  /** Says beside a field what is wrong, before anything is sent. Null: nothing any more. */
  refuse(problem: Problem | null): void;
  isBusy: boolean;
  /** The error, unless a field shows it. */
  failure: CombinedError | undefined;
}

interface FieldOf {
  name: string;
  value: string;
  problem: string | null;
}

/** `action` sends the form. */
export function useForm<Values extends object>(
  initial: Values | (() => Values),
  action: { isBusy: boolean; error: CombinedError | undefined },
): Form<Values> {
  const [values, setValues] = useState(initial);
  const [refused, refuse] = useState<Problem | null>(null);
  const explained = action.error && explain(action.error);
  const shown = new Set<string>();
  const problemOf = (field: string) => {
    shown.add(field);
    if (refused) return refused.field === field ? refused.text : null;
    return explained?.field === field ? explained.text : null;
  };
  const set = (part: Partial<Values>) => setValues((before) => ({ ...before, ...part }));
  const change = (name: string) => (value: string | boolean) => set({ [name]: value } as Partial<Values>);
  return {
    values,
    set,
    text: (name) => ({ name, value: values[name] as string, problem: problemOf(name), onInput: change(name) }),
    choice: (name) => ({ name, value: values[name] as string, problem: problemOf(name), onChange: change(name) }),
    tick: (name) => ({ name, isOn: values[name] as boolean, problem: problemOf(name), onChange: change(name) }),
    problemOf,
    refuse,
    isBusy: action.isBusy,
    get failure() {
      return explained?.field && shown.has(explained.field) ? undefined : action.error;
    },
  };
}

interface FormDialogProps {
  title: string;
  /** What its button does, as a verb. */
  does: string;
  form: Pick<Form<object>, 'isBusy' | 'failure' | 'refuse'>;
  /** True if it was accepted; then the dialog closes. */
  onSubmit: () => Promise<boolean>;
  onClose: () => void;
  isWide?: boolean;
  children: ComponentChildren;
}

export function FormDialog({ title, does, form, onSubmit, onClose, isWide = false, children }: FormDialogProps) {
  const id = useId();
  const element = useRef<HTMLFormElement>(null);
  const [attempts, setAttempts] = useState(0);
  // The field that has to be corrected gets the focus, so that a screen reader reads what is wrong with it.
  useEffect(() => {
    element.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [attempts]);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const problem = firstProblem(event.currentTarget as HTMLFormElement);
    form.refuse(problem);
    if (!problem && (await onSubmit())) return onClose();
    setAttempts((before) => before + 1);
  };
  return (
    <Dialog
      title={title}
      isWide={isWide}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" form={id} isBusy={form.isBusy}>
            {does}
          </Button>
        </>
      }
    >
      <form id={id} ref={element} class="form" noValidate onSubmit={submit}>
        {children}
        {form.failure && <Failure error={form.failure} />}
      </form>
    </Dialog>
  );
}

/** What the browser finds wrong, such as a required field that is empty. */
function firstProblem(form: HTMLFormElement): Problem | null {
  for (const control of form.elements) {
    if (control instanceof HTMLInputElement || control instanceof HTMLTextAreaElement) {
      const { validity, name, value } = control;
      if (name && control.required && value.trim() === '' && !validity.badInput)
        return { field: name, text: 'Please fill this in.' };
      if (name && !validity.valid) return { field: name, text: control.validationMessage };
    }
  }
  return null;
}
