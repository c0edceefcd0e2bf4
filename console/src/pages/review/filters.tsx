import { Button } from '../../components/button.tsx';
import { Select } from '../../components/field.tsx';
import { FilterBox } from '../../components/filter-box.tsx';
import { FilterField } from '../../components/filter-field.tsx';
import type { Address } from '../../lib/address.ts';
import { useData } from '../../lib/data.ts';
import { present, useMe } from '../../lib/me.ts';
import { FREE_KINDS, kindsQuery } from '../../memory/query.ts';
import { FILTERS, FINDINGS, type Item } from './query.ts';

export function Filters({ address, items }: { address: Address; items: readonly Item[] }) {
  const { readableScopes, projects } = useMe();
  const kinds = present(useData(kindsQuery, {}).data?.memoryKinds?.nodes).map(({ kind }) => kind);
  // A cursor and an item belong to the filters that they were chosen with.
  const set = (name: string, value: string) => address.set({ [name]: value, cursor: null, item: null });
  const isFiltered = FILTERS.some((name) => address.get(name));
  const typed = (name: string, label: string, list: readonly string[]) => (
    <FilterField label={label} value={address.get(name)} list={list} onChange={(value) => set(name, value)} />
  );
  return (
    <FilterBox isFiltered={isFiltered}>
      <search class="filters">
        {typed('creator', 'Writer', [...new Set(items.map(({ creator }) => creator))])}
        <Select
          label="Scope"
          value={address.get('scope')}
          options={[['', 'all'], ...present(readableScopes).map((one) => [one, one] as const)]}
          onChange={(scope) => set('scope', scope)}
        />
        {typed(
          'project',
          'Project',
          present(projects).filter((one) => one !== '*'),
        )}
        {typed('kind', 'Kind', [...FREE_KINDS, ...kinds])}
        <Select
          label="Only those that"
          value={address.get('finding')}
          options={[['', 'wait'], ...Object.entries(FINDINGS).map(([name, { title }]) => [name, title] as const)]}
          onChange={(finding) => set('finding', finding)}
        />
        {isFiltered && (
          <div class="filter-end">
            <Button
              look="quiet"
              onClick={() =>
                address.set(Object.fromEntries([...FILTERS, 'cursor', 'item'].map((name) => [name, null])))
              }
            >
              Clear
            </Button>
          </div>
        )}
      </search>
    </FilterBox>
  );
}
