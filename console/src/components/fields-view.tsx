// Named values, as text: whatever was saved is shown as it is, never as HTML.
import type { ComponentChildren } from 'preact';

/** Pairs of a name and what is shown for it. Those without a value are left out. */
export function Facts({ items }: { items: readonly (readonly [name: string, value: ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {items
        .filter(([, value]) => value !== null && value !== undefined && value !== '' && value !== false)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
const isEmpty = (value: object) => Object.keys(value).length === 0;

/** JSON as a tree of names and values. */
export function Json({ value, depth = 0 }: { value: unknown; depth?: number }) {
  if (!isObject(value)) return <span class={`json ${value === null ? 'null' : typeof value}`}>{String(value)}</span>;
  if (isEmpty(value)) return <span class="json null">{Array.isArray(value) ? 'empty list' : 'none'}</span>;
  if (Array.isArray(value) && !value.some(isObject)) return <span class="json">{value.map(String).join(', ')}</span>;
  const entries = Object.entries(value);
  // Deep values would be narrower than their names.
  if (depth > 4) return <code class="json">{JSON.stringify(value)}</code>;
  return (
    <dl class="json-tree">
      {entries.map(([name, one]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <Json value={one} depth={depth + 1} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
