// One field of a kind, in the form of the kind.
import { Button } from '../../components/button.tsx';
import { Check } from '../../components/check.tsx';
import { Select, TextField } from '../../components/field.tsx';
import { present } from '../../lib/me.ts';
import type { KindRow } from './query.ts';

const TYPES = ['text', 'number', 'boolean', 'date', 'timestamp', 'uuid', 'text[]', 'object', 'object[]'];

export interface FieldRow {
  field: string;
  type: string;
  isRequired: boolean;
  meaning: string;
  choices: string;
  /** What the form does not show, as it was read: registering a kind again replaces all of it. */
  rest: Record<string, unknown>;
}

export const noField: FieldRow = { field: '', type: 'text', isRequired: false, meaning: '', choices: '', rest: {} };

type StoredField = NonNullable<KindRow['fields']['nodes'][number]>;

export const fromStored = (stored: StoredField): FieldRow => ({
  field: stored.field,
  type: stored.type,
  isRequired: stored.isRequired,
  meaning: stored.meaning,
  choices: present(stored.choices).join(', '),
  rest: { max_length: stored.maxLength, sha256_of: stored.sha256Of, parts: stored.parts },
});

/** As register_memory_kind() takes it. */
export function toRule({ field, type, isRequired, meaning, choices, rest }: FieldRow): Record<string, unknown> {
  const allowed = choices
    .split(',')
    .map((one) => one.trim())
    .filter(Boolean);
  const kept = Object.entries(rest).filter(([, value]) => value !== null);
  return {
    ...Object.fromEntries(kept),
    field: field.trim(),
    type,
    is_required: isRequired,
    meaning: meaning.trim() || field.trim(),
    ...(type === 'text' && allowed.length > 0 ? { choices: allowed } : {}),
  };
}

interface KindFieldProps {
  place: number;
  row: FieldRow;
  problem: string | null;
  onChange: (part: Partial<FieldRow>) => void;
  onRemove: () => void;
}

export function KindField({ place, row, problem, onChange, onRemove }: KindFieldProps) {
  return (
    <fieldset class="kind-field">
      <legend>Field {place}</legend>
      <div class="form-row">
        <TextField label="Field" value={row.field} problem={problem} onInput={(field) => onChange({ field })} />
        <Select label="Type" value={row.type} onChange={(type) => onChange({ type })} options={TYPES} />
      </div>
      <TextField label="Meaning" value={row.meaning} onInput={(meaning) => onChange({ meaning })} />
      {row.type === 'text' && (
        <TextField
          label="One of"
          hint="With commas between. Empty: any text."
          value={row.choices}
          onInput={(choices) => onChange({ choices })}
        />
      )}
      <Check
        label="Every memory of this kind has it"
        isOn={row.isRequired}
        onChange={(isRequired) => onChange({ isRequired })}
      />
      <p>
        <Button look="quiet" label={`Remove field ${place}`} onClick={onRemove}>
          Remove
        </Button>
      </p>
    </fieldset>
  );
}
