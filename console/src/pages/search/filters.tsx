import { Button } from '../../components/button.tsx';
import { Check } from '../../components/check.tsx';
import { Select, TextField } from '../../components/field.tsx';
import { FilterField } from '../../components/filter-field.tsx';
import type { Address } from '../../lib/address.ts';
import { useData } from '../../lib/data.ts';
import { fromLocalInput, toLocalInput } from '../../lib/format.ts';
import { present, useMe } from '../../lib/me.ts';
import { FREE_KINDS, kindsQuery } from '../../memory/query.ts';
import { FILTERS } from './query.ts';

const MODES = [
  ['', 'words and meaning'],
  ['lexical', 'words'],
  ['semantic', 'meaning'],
  ['graph', 'relations of entities'],
] as const;

/** They narrow the search at once, but for fields that are typed, which do when they are left. */
export function Filters({ address }: { address: Address }) {
  const scopes = present(useMe().readableScopes);
  const kinds = present(useData(kindsQuery, {}).data?.memoryKinds?.nodes).map(({ kind }) => kind);
  const set = (name: string, value: string) => address.set({ [name]: value, k: null }, { replace: true });
  const isFiltered = FILTERS.some((name) => address.get(name));
  const time = (name: string, label: string, hint?: string) => (
    <TextField
      label={label}
      type="datetime-local"
      value={toLocalInput(address.get(name))}
      onInput={(value) => set(name, fromLocalInput(value))}
      hint={hint}
    />
  );
  return (
    <details class="search-filters" open={isFiltered}>
      <summary>Filters</summary>
      <div class="filters">
        <Select
          label="Scope"
          value={address.get('scope')}
          options={[['', 'all'], ...scopes.map((one) => [one, one] as const)]}
          onChange={(scope) => set('scope', scope)}
        />
        <FilterField label="Project" value={address.get('project')} onChange={(value) => set('project', value)} />
        <FilterField
          label="Kinds"
          value={address.get('kind')}
          list={[...FREE_KINDS, ...kinds]}
          onChange={(value) => set('kind', value)}
        />
        <FilterField label="Tags" value={address.get('tags')} onChange={(value) => set('tags', value)} />
        <FilterField label="Speaker" value={address.get('speaker')} onChange={(value) => set('speaker', value)} />
        {time('since', 'Happened since')}
        {time('until', 'Happened before')}
        {time('asof', 'As of', 'What was known then.')}
        <Select label="By" value={address.get('mode')} options={MODES} onChange={(mode) => set('mode', mode)} />
        <div class="filter-end">
          <Check
            label="Archived too"
            isOn={address.get('archived') !== ''}
            onChange={(isOn) => set('archived', isOn ? 'yes' : '')}
          />
          <Check
            label="Pending too"
            isOn={address.get('pending') !== ''}
            onChange={(isOn) => set('pending', isOn ? 'yes' : '')}
          />
          {isFiltered && (
            <Button look="quiet" onClick={() => address.set(Object.fromEntries(FILTERS.map((name) => [name, null])))}>
              Clear
            </Button>
          )}
        </div>
      </div>
    </details>
  );
}
