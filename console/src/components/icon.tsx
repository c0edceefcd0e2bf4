/** A drawing of 20 by 20, by the `d` of its path. It is decoration: what it means stands beside it, or in the label of its button. */
export function Icon({ d }: { d: string }) {
  return (
    <svg class="icon" viewBox="0 0 20 20" aria-hidden="true" focusable="false">
      <path d={d} />
    </svg>
  );
}

export const icons = {
  close: 'M5 5l10 10M15 5L5 15',
  copy: 'M7 7h9v9H7zM4 13V4h9',
  keys: 'M3 6h14v9H3zM6 9h.01M9 9h.01M12 9h.01M6 12h8',
  menu: 'M3 6h14M3 10h14M3 14h14',
  out: 'M8 4H4v12h4M9 10h8M14 7l3 3-3 3',
  refresh: 'M16 10a6 6 0 1 1-2-4.5L16 7M16 3v4h-4',
  search: 'M9 15A6 6 0 1 0 9 3a6 6 0 0 0 0 12zM13.5 13.5L17 17',
  plus: 'M10 4v12M4 10h12',
  warning: 'M10 3l8 14H2zM10 8v4M10 14.5v.01',
} as const;
