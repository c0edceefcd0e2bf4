import { Button } from '../../components/button.tsx';
import { Check } from '../../components/check.tsx';
import { Select, TextField } from '../../components/field.tsx';
import { FilterBox } from '../../components/filter-box.tsx';
import { FilterField } from '../../components/filter-field.tsx';
import type { Address } from '../../lib/address.ts';
import { useData } from '../../lib/data.ts';
import { fromLocalInput, toLocalInput } from '../../lib/format.ts';
import { present, useMe } from '../../lib/me.ts';
import { FREE_KINDS, kindsQuery } from '../../memory/query.ts';

const NAMES = ['kind', 'scope', 'project', 'thread', 'review', 'since', 'until', 'archived'];
const REVIEW_STATES = [
  ['', 'all'],
  ['pending', 'pending'],
  ['approved', 'approved'],
  ['rejected', 'rejected'],
] as const;

export function Filters({ address }: { address: Address }) {
  const scopes = present(useMe().readableScopes);
  const kinds = present(useData(kindsQuery, {}).data?.memoryKinds?.nodes).map(({ kind }) => kind);
  // A cursor belongs to the filters that it was made with.
  const set = (name: string, value: string) => address.set({ [name]: value, after: null }, { replace: true });
  const isFiltered = NAMES.some((name) => address.get(name));
  return (
    <FilterBox isFiltered={isFiltered}>
      <search class="filters">
        <FilterField
          label="Kind"
          value={address.get('kind')}
          list={[...FREE_KINDS, ...kinds]}
          onChange={(kind) => set('kind', kind)}
        />
        <Select
          label="Scope"
          value={address.get('scope')}
          options={[['', 'all'], ...scopes.map((one) => [one, one] as const)]}
          onChange={(scope) => set('scope', scope)}
        />
        <FilterField label="Project" value={address.get('project')} onChange={(project) => set('project', project)} />
        <Select
          label="Review"
          value={address.get('review')}
          options={REVIEW_STATES}
          onChange={(state) => set('review', state)}
        />
        <TextField
          label="Since"
          type="datetime-local"
          value={toLocalInput(address.get('since'))}
          onInput={(time) => set('since', fromLocalInput(time))}
        />
        <TextField
          label="Until"
          type="datetime-local"
          value={toLocalInput(address.get('until'))}
          onInput={(time) => set('until', fromLocalInput(time))}
        />
        <div class="filter-end">
          <Check
            label="Archived too"
            isOn={address.get('archived') !== ''}
            onChange={(isOn) => set('archived', isOn ? 'yes' : '')}
          />
          {isFiltered && (
            <Button
              look="quiet"
              onClick={() => address.set(Object.fromEntries([...NAMES, 'after'].map((name) => [name, null])))}
            >
              Clear
            </Button>
          )}
        </div>
      </search>
    </FilterBox>
  );
}
