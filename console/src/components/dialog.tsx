import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { Button } from './button.tsx';
import { icons } from './icon.tsx';

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  /** The row of buttons at its end. */
  actions?: ComponentChildren;
  isWide?: boolean;
}

/** Shown as long as it is rendered. The browser keeps the focus in it, closes it with Escape, and gives the focus back. */
export function Dialog({ title, onClose, children, actions, isWide }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    // Else the button that closes it, which comes first, would have the focus.
    dialog?.querySelector<HTMLElement>('.dialog-body :is(input, textarea, select)')?.focus();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={element}
      class={`dialog ${isWide ? 'wide' : ''}`}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <header>
        <h2 id={id}>{title}</h2>
        <Button look="quiet" icon={icons.close} label="Close" onClick={onClose} />
      </header>
      <div class="dialog-body">{children}</div>
      {actions && <footer>{actions}</footer>}
    </dialog>
  );
}

interface ConfirmProps {
  title: string;
  children: ComponentChildren;
  /** What the button does, as a verb. */
  does: string;
  isBusy?: boolean;
  isDangerous?: boolean;
  onConfirm: () => void;
  onClose: () => void;
}

export function Confirm({ title, children, does, isBusy, isDangerous = true, onConfirm, onClose }: ConfirmProps) {
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look={isDangerous ? 'danger' : 'primary'} isBusy={isBusy} onClick={onConfirm}>
            {does}
          </Button>
        </>
      }
    >
      {children}
    </Dialog>
  );
}
