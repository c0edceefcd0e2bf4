import type { ComponentChildren } from 'preact';
import { Icon } from './icon.tsx';

export interface ButtonProps {
  children?: ComponentChildren;
  onClick?: (event: MouseEvent) => void;
  /** `quiet` looks like text until it is pointed at. */
  look?: 'plain' | 'primary' | 'danger' | 'quiet';
  type?: 'button' | 'submit';
  isDisabled?: boolean;
  /** Working: it says so and can't be pressed again, but keeps the focus, which a disabled button would lose. */
  isBusy?: boolean;
  icon?: string;
  /** What it does, for a button that shows an icon only. */
  label?: string;
  isPressed?: boolean;
  /** The id of the form that it submits, if it stands outside. */
  form?: string;
}

export function Button({
  children,
  onClick,
  look = 'plain',
  type = 'button',
  isDisabled,
  isBusy,
  icon,
  label,
  isPressed,
  form,
}: ButtonProps) {
  const click = (event: MouseEvent) => {
    if (isBusy) event.preventDefault();
    else onClick?.(event);
  };
  return (
    <button
      type={type}
      form={form}
      class={`button ${look}`}
      disabled={isDisabled}
      aria-disabled={isBusy}
      aria-busy={isBusy}
      aria-label={label}
      aria-pressed={isPressed}
      title={label}
      onClick={click}
    >
      {isBusy ? <span class="spinner" aria-hidden="true" /> : icon && <Icon d={icon} />}
      {children}
    </button>
  );
}
