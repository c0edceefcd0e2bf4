// A box to tick, with what it means and what is wrong with it.
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface CheckProps {
  label: ComponentChildren;
  isOn: boolean;
  onChange: (isOn: boolean) => void;
  name?: string | undefined;
  problem?: string | null | undefined;
  isDisabled?: boolean;
  isBusy?: boolean;
}

export function Check({ label, isOn, onChange, name, problem, isDisabled = false, isBusy = false }: CheckProps) {
  const id = useId();
  return (
    <div class="tick">
      <label class="check">
        <input
          type="checkbox"
          name={name}
          checked={isOn}
          disabled={isDisabled}
          aria-busy={isBusy}
          aria-invalid={Boolean(problem)}
          aria-describedby={problem ? id : undefined}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
        <span>{label}</span>
        {isBusy && <span class="spinner" aria-hidden="true" />}
      </label>
      {problem && (
        <p id={id} class="problem">
          {problem}
        </p>
      )}
    </div>
  );
}
