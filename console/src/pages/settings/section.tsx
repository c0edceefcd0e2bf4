// The frame of a part of the settings: what it is for, and what can be added.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { icons } from '../../components/icon.tsx';
import { useMe } from '../../lib/me.ts';

interface SectionProps {
  title: string;
  about: ComponentChildren;
  /** The label of the button that adds something. */
  adds?: string;
  onAdd?: () => void;
  children: ComponentChildren;
}

export function Section({ title, about, adds, onAdd, children }: SectionProps) {
  const { isReadOnly, isAdmin } = useMe();
  return (
    <section class="settings-part" aria-label={title}>
      <header>
        <div>
          <h2>{title}</h2>
          <p class="about">{about}</p>
        </div>
        {adds && isAdmin && !isReadOnly && (
          <Button icon={icons.plus} onClick={() => onAdd?.()}>
            {adds}
          </Button>
        )}
      </header>
      {children}
    </section>
  );
}

interface ChangeProps {
  children: ComponentChildren;
  /** Busy until the promise that it returns is settled. */
  onClick: () => unknown;
}

/** A button that a person who may change nothing does not see. */
export function Change({ children, onClick }: ChangeProps) {
  const [isBusy, setBusy] = useState(false);
  const { isReadOnly } = useMe();
  const click = async () => {
    setBusy(true);
    await onClick();
    setBusy(false);
  };
  return isReadOnly ? null : (
    <Button look="quiet" onClick={click} isBusy={isBusy}>
      {children}
    </Button>
  );
}

export const names = (list: readonly (string | null)[] | null | undefined, ifNull = 'all'): string =>
  list ? (list.includes('*') ? 'all' : list.join(', ') || 'none') : ifNull;
