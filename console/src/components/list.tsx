// A table of rows, which turns into a list of cards where it is narrow.
import type { ComponentChildren } from 'preact';
import { useLocation } from 'wouter-preact';

export interface Column<Row> {
  name: string;
  title: string;
  show: (row: Row) => ComponentChildren;
  /** Its width takes what the others leave. */
  isMain?: boolean;
  isNumber?: boolean;
  /** Its title stands before the value where the list has no head, since the value alone says too little. */
  isNamed?: boolean;
}

export interface Selection {
  has(key: string): boolean;
  toggle(keys: readonly string[], isOn: boolean): void;
}

interface ListProps<Row> {
  /** What the rows are, for those who don't see the page. */
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  /** The page of a row. The whole row opens it; its main column must hold a link to it, for keyboards. */
  hrefOf?: (row: Row) => string;
  selection?: Selection | undefined;
  nameOf?: (row: Row) => string;
}

export function List<Row>({ caption, columns, rows, keyOf, hrefOf, selection, nameOf }: ListProps<Row>) {
  const [, navigate] = useLocation();
  const open = (event: MouseEvent, row: Row) => {
    const isOwn = (event.target as Element).closest('a, button, input, label, select') !== null;
    if (hrefOf && !isOwn && !getSelection()?.toString()) navigate(hrefOf(row));
  };
  const keys = rows.map(keyOf);
  return (
    <table class={`list ${hrefOf ? 'opens' : ''}`}>
      <caption class="unseen">{caption}</caption>
      <thead>
        <tr>
          {selection && (
            <th class="tick" scope="col">
              <input
                type="checkbox"
                aria-label="Select all rows of this page"
                checked={keys.length > 0 && keys.every(selection.has)}
                onChange={(event) => selection.toggle(keys, event.currentTarget.checked)}
              />
            </th>
          )}
          {columns.map(({ name, title, isMain, isNumber, isNamed }) => (
            <th key={name} scope="col" class={classOf(isMain, isNumber, isNamed)}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => {
          const key = keyOf(row);
          return (
            <tr key={key} data-key={key} aria-selected={selection?.has(key)} onClick={(event) => open(event, row)}>
              {selection && (
                <td class="tick">
                  <input
                    type="checkbox"
                    aria-label={`Select ${nameOf?.(row) ?? key}`}
                    checked={selection.has(key)}
                    onChange={(event) => selection.toggle([key], event.currentTarget.checked)}
                  />
                </td>
              )}
              {columns.map(({ name, title, show, isMain, isNumber, isNamed }) => (
                <td key={name} data-title={title} class={classOf(isMain, isNumber, isNamed)}>
                  {show(row)}
                </td>
              ))}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

const classOf = (isMain?: boolean, isNumber?: boolean, isNamed?: boolean) =>
  [isMain && 'main', isNumber && 'number', isNamed && 'named'].filter(Boolean).join(' ');
