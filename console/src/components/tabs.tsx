import type { ComponentChildren } from 'preact';
import { useId, useRef } from 'preact/hooks';

export interface Tab {
  name: string;
  title: string;
  show: () => ComponentChildren;
}

interface TabsProps {
  label: string;
  tabs: readonly Tab[];
  current: string;
  onChange: (name: string) => void;
}

/** Arrow keys move between the tabs; only the contents of the current one are rendered. */
export function Tabs({ label, tabs, current, onChange }: TabsProps) {
  const id = useId();
  const bar = useRef<HTMLDivElement>(null);
  const shown = tabs.find(({ name }) => name === current) ?? tabs[0];
  if (!shown) return null;
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const index = (tabs.indexOf(shown) + step + tabs.length) % tabs.length;
    onChange(tabs[index]!.name);
    bar.current?.querySelectorAll('button')[index]?.focus();
  };
  return (
    <div class="tabs">
      <div ref={bar} class="tab-bar" role="tablist" aria-label={label} onKeyDown={move}>
        {tabs.map(({ name, title }) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`${id}-${name}`}
            aria-selected={name === shown.name}
            aria-controls={`${id}-panel`}
            tabIndex={name === shown.name ? 0 : -1}
            onClick={() => onChange(name)}
          >
            {title}
          </button>
        ))}
      </div>
      <div
        class="tab-panel"
        role="tabpanel"
        id={`${id}-panel`}
        aria-labelledby={`${id}-${shown.name}`}
        key={shown.name}
      >
        {shown.show()}
      </div>
    </div>
  );
}
