import type { ComponentChildren } from 'preact';

/** On a phone the filters would fill the first screen. */
const isNarrow = () => matchMedia('(width < 46rem)').matches;

/** Filters, which a narrow page shows when it is asked to. */
export function FilterBox({ isFiltered, children }: { isFiltered: boolean; children: ComponentChildren }) {
  return (
    <details class="filter-box" open={!isNarrow()}>
      <summary>{isFiltered ? 'Filters (some are set)' : 'Filters'}</summary>
      {children}
    </details>
  );
}
