// What a page shows instead of data: that it loads, that there is none, or why it failed.
import type { CombinedError } from '@urql/preact';
import type { ComponentChildren } from 'preact';
import type { Loaded } from '../lib/data.ts';
import { explain } from '../lib/errors.ts';
import { Button } from './button.tsx';
import { Icon, icons } from './icon.tsx';

/** Grey lines in the place of `rows` rows. */
export function Loading({ rows = 6, label = 'Loading' }: { rows?: number; label?: string }) {
  return (
    <div class="loading" role="status" aria-label={label}>
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} class="bone" />
      ))}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children && <div class="empty-text">{children}</div>}
    </div>
  );
}

export function Failure({ error, onRetry }: { error: CombinedError; onRetry?: () => void }) {
  const { title, text } = explain(error);
  return (
    <div class="failure" role="alert">
      <Icon d={icons.warning} />
      <div>
        <p class="failure-title">{title}</p>
        <p>{text}</p>
        {onRetry && <Button onClick={onRetry}>Try again</Button>}
      </div>
    </div>
  );
}

interface ReadyProps<Data> {
  of: Loaded<Data>;
  rows?: number;
  children: (data: Data) => ComponentChildren;
}

/** Children once there is data; above them, why newer data could not be read. */
export function Ready<Data>({ of: { data, error, isLoading, refresh }, rows, children }: ReadyProps<Data>) {
  return (
    <>
      {error && <Failure error={error} onRetry={refresh} />}
      {isLoading ? (
        <Loading {...(rows === undefined ? {} : { rows })} />
      ) : (
        data !== undefined && !(error && isHollow(data)) && children(data)
      )}
    </>
  );
}

/** The data beside errors is an object whose fields are null. */
const isHollow = (data: unknown) =>
  typeof data === 'object' &&
  data !== null &&
  Object.values(data).every((value) => value === null || typeof value === 'string');
