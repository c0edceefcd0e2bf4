// Fields of forms: a label, the control, and what is wrong with it or how to fill it in.
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface FieldProps {
  label: string;
  /** What an error of the API calls it. */
  name?: string | undefined;
  hint?: ComponentChildren;
  /** What is wrong with the value. */
  problem?: string | null | undefined;
  /** What a number counts, such as days. */
  unit?: string | undefined;
  isRequired?: boolean;
  /** Shown, but not to be changed. */
  isDisabled?: boolean;
  /** Its value is being kept. */
  isBusy?: boolean;
  children: (attributes: {
    id: string;
    name: string | undefined;
    'aria-describedby': string | undefined;
    'aria-invalid': boolean;
    required: boolean;
    disabled: boolean;
    'aria-busy': boolean;
  }) => ComponentChildren;
}

export function Field({
  label,
  name,
  hint,
  problem,
  unit,
  isRequired = false,
  isDisabled = false,
  isBusy = false,
  children,
}: FieldProps) {
  const id = useId();
  const about = [problem ? `${id}-problem` : '', unit ? `${id}-unit` : '', hint ? `${id}-hint` : ''].filter(Boolean);
  const control = children({
    id,
    name,
    'aria-describedby': about.join(' ') || undefined,
    'aria-invalid': Boolean(problem),
    required: isRequired,
    disabled: isDisabled,
    'aria-busy': isBusy,
  });
  return (
    <div class="field">
      <label for={id}>
        {label}
        {isRequired && <span class="required"> (required)</span>}
      </label>
      <div class="control">
        {control}
        {unit && <span id={`${id}-unit`}>{unit}</span>}
        {isBusy && <span class="spinner" aria-hidden="true" />}
      </div>
      {problem && (
        <p id={`${id}-problem`} class="problem">
          {problem}
        </p>
      )}
      {hint && (
        <p id={`${id}-hint`} class="hint">
          {hint}
        </p>
      )}
    </div>
  );
}

interface ValueProps extends Omit<FieldProps, 'children'> {
  value: string;
  onInput: (value: string) => void;
  /** The field was left with another value, or Enter was pressed. */
  onLeave?: (value: string) => void;
  placeholder?: string;
  type?: 'text' | 'search' | 'number' | 'datetime-local' | 'date' | 'password';
  list?: readonly string[];
  min?: number;
  max?: number;
  step?: number | 'any';
}

/** `list` suggests values, others may be typed. */
export function TextField({
  value,
  onInput,
  onLeave,
  placeholder,
  type = 'text',
  list,
  min,
  max,
  step,
  ...field
}: ValueProps) {
  const listId = useId();
  return (
    <Field {...field}>
      {(attributes) => (
        <>
          <input
            {...attributes}
            {...{ type, value, placeholder, min, max, step }}
            list={list ? listId : undefined}
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => onInput(event.currentTarget.value)}
            onChange={(event) => onLeave?.(event.currentTarget.value)}
          />
          {list && (
            <datalist id={listId}>
              {list.map((one) => (
                <option key={one} value={one} />
              ))}
            </datalist>
          )}
        </>
      )}
    </Field>
  );
}

interface AreaProps extends Omit<FieldProps, 'children'> {
  value: string;
  onInput: (value: string) => void;
  rows?: number;
}

export function TextArea({ value, onInput, rows = 6, ...field }: AreaProps) {
  return (
    <Field {...field}>
      {(attributes) => (
        <textarea {...attributes} rows={rows} value={value} onInput={(event) => onInput(event.currentTarget.value)} />
      )}
    </Field>
  );
}

interface SelectProps extends Omit<FieldProps, 'children'> {
  value: string;
  onChange: (value: string) => void;
  /** Values, or values with what is shown for them. */
  options: readonly (string | readonly [value: string, shown: string])[];
}

export function Select({ value, onChange, options, ...field }: SelectProps) {
  return (
    <Field {...field}>
      {(attributes) => (
        <select {...attributes} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          {options.map((option) => {
            const [one, shown] = typeof option === 'string' ? [option, option] : option;
            return (
              <option key={one} value={one} selected={one === value}>
                {shown}
              </option>
            );
          })}
        </select>
      )}
    </Field>
  );
}
