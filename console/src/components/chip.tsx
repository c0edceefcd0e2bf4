import type { ComponentChildren } from 'preact';

export type Tone = 'plain' | 'good' | 'bad' | 'warn' | 'info';

/** A short label: a scope, a kind, a state. */
export function Chip({
  tone = 'plain',
  children,
  title,
}: {
  tone?: Tone;
  children: ComponentChildren;
  title?: string;
}) {
  return (
    <span class={`chip ${tone}`} title={title}>
      {children}
    </span>
  );
}

const TONES: Readonly<Record<string, Tone>> = { 'l-private': 'warn', global: 'info' };

export const Scope = ({ name }: { name: string }) => <Chip tone={TONES[name] ?? 'plain'}>{name}</Chip>;

export function Tags({ tags }: { tags: readonly (string | null)[] }) {
  return (
    <>
      {tags.map((tag) => (
        <span key={tag} class="tag">
          {tag}
        </span>
      ))}
    </>
  );
}
