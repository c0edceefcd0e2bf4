import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Check } from '../../components/check.tsx';
import { Select, TextField } from '../../components/field.tsx';
import { FilterBox } from '../../components/filter-box.tsx';
import type { Change } from '../../lib/address.ts';
import { fromLocalInput, toLocalInput } from '../../lib/format.ts';
import { FIELDS, isUuid, OPERATIONS, type Filters as Values } from './filter.ts';

interface FiltersProps {
  filters: Values;
  /** Suggested; others may be typed. */
  callers: readonly string[];
  onChange: (change: Change) => void;
}

export function Filters({ filters, callers, onChange }: FiltersProps) {
  const [typed, setTyped] = useState(filters);
  const type = (name: keyof Values) => (value: string) => setTyped({ ...typed, [name]: value.trim() });
  const rowProblem = typed.row && !isUuid(typed.row) ? 'An id, such as 01a215e6-98b8-7fff-b45b-3f3b7b60c654' : null;
  const submit = (event: Event) => {
    event.preventDefault();
    if (!rowProblem) onChange(typed);
  };
  return (
    <FilterBox isFiltered={FIELDS.some((name) => filters[name])}>
      <form class="audit-filters" onSubmit={submit}>
        <div class="filters">
          <TextField label="Caller" value={typed.caller} onInput={type('caller')} list={callers} placeholder="all" />
          <Select
            label="Operation"
            value={typed.operation}
            onChange={(operation) => onChange({ ...typed, operation })}
            options={[['', 'all'], ...OPERATIONS]}
          />
          <TextField label="Tool" value={typed.tool} onInput={type('tool')} placeholder="such as save_memory" />
          <TextField label="Table" value={typed.table} onInput={type('table')} placeholder="such as packet_store" />
          <TextField
            label="Row"
            value={typed.row}
            onInput={type('row')}
            problem={rowProblem}
            placeholder="id of a memory"
          />
          <TextField
            label="From"
            type="datetime-local"
            value={toLocalInput(typed.since)}
            onInput={(at) => setTyped({ ...typed, since: fromLocalInput(at) })}
          />
          <TextField
            label="Until"
            type="datetime-local"
            value={toLocalInput(typed.until)}
            onInput={(at) => setTyped({ ...typed, until: fromLocalInput(at) })}
          />
        </div>
        <div class="filter-row">
          <Button type="submit" look="primary">
            Filter
          </Button>
          {FIELDS.some((name) => filters[name]) && (
            <Button look="quiet" onClick={() => onChange(Object.fromEntries(FIELDS.map((name) => [name, null])))}>
              Clear
            </Button>
          )}
          <Check
            label="Only what was refused or failed"
            isOn={filters.refused !== ''}
            onChange={(isOn) => onChange({ ...typed, refused: isOn ? '1' : null })}
          />
          <Check
            label="Also reads of this log"
            isOn={filters.own !== ''}
            onChange={(isOn) => onChange({ ...typed, own: isOn ? '1' : null })}
          />
        </div>
      </form>
    </FilterBox>
  );
}
