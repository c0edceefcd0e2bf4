// The fields of a kind, as a form, and what the form holds, as the API takes it.
import { Select, TextArea, TextField } from '../components/field.tsx';
import type { KindField } from './query.ts';

export type Values = Readonly<Record<string, string>>;

const LONG = 300;
const isList = (type: string) => type.endsWith('[]');
const isObject = (type: string) => type.startsWith('object');

/** The order of the form: what is required first, then as the kind has them. */
export const inOrder = (fields: readonly (KindField | null)[]): KindField[] =>
  fields
    .filter((field) => field !== null)
    .sort((a, b) => Number(b.isRequired) - Number(a.isRequired) || a.place - b.place);

/** Texts of the form by field, from what is stored. */
export function toValues(fields: readonly KindField[], stored: Readonly<Record<string, unknown>>): Values {
  const text = (value: unknown, type: string) => {
    if (value === null || value === undefined) return '';
    if (isObject(type)) return JSON.stringify(value, null, 2);
    return Array.isArray(value) ? value.join('\n') : String(value);
  };
  return Object.fromEntries(fields.map(({ field, type }) => [field, text(stored[field], type)]));
}

/** Throws a SyntaxError with the name of the field that holds no JSON. */
export function toData(fields: readonly KindField[], values: Values): Record<string, unknown> {
  const entries = fields.flatMap(({ field, type }): [string, unknown][] => {
    const text = values[field]?.trim() ?? '';
    if (text === '') return [];
    if (isObject(type)) return [[field, parse(field, text)]];
    if (isList(type))
      return [
        [
          field,
          text
            .split('\n')
            .map((line) => line.trim())
            .filter(Boolean),
        ],
      ];
    if (type === 'number') return [[field, Number(text)]];
    if (type === 'boolean') return [[field, text === 'true']];
    return [[field, text]];
  });
  return Object.fromEntries(entries);
}

function parse(field: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new SyntaxError(`${field}: must be JSON`);
  }
}

interface KindFieldsProps {
  fields: readonly KindField[];
  values: Values;
  onChange: (values: Values) => void;
  problemOf: (field: string) => string | null;
}

export function KindFields({ fields, values, onChange, problemOf }: KindFieldsProps) {
  return (
    <>
      {fields.map((field) => (
        <OneField
          key={field.field}
          field={field}
          value={values[field.field] ?? ''}
          onInput={(value) => onChange({ ...values, [field.field]: value })}
          problem={problemOf(field.field)}
        />
      ))}
    </>
  );
}

interface OneFieldProps {
  field: KindField;
  value: string;
  onInput: (value: string) => void;
  problem: string | null;
}

function OneField({
  field: { field, type, isRequired, maxLength, meaning, choices },
  value,
  onInput,
  problem,
}: OneFieldProps) {
  const label = nameOf(field);
  const shared = { label, value, problem, isRequired };
  if (choices) {
    const options = choices.filter((choice) => choice !== null);
    return (
      <Select
        {...shared}
        hint={meaning}
        onChange={onInput}
        options={isRequired && value ? options : ['', ...options]}
      />
    );
  }
  if (type === 'boolean')
    return <Select {...shared} hint={meaning} onChange={onInput} options={['', 'true', 'false']} />;
  if (isList(type) || isObject(type)) {
    const form = isObject(type) ? 'As JSON.' : 'One a line.';
    return <TextArea {...shared} hint={`${meaning} ${form}`} rows={isObject(type) ? 4 : 2} onInput={onInput} />;
  }
  if (type === 'text' && maxLength > LONG)
    return <TextArea {...shared} hint={meaning} rows={maxLength > 5_000 ? 4 : 2} onInput={onInput} />;
  const input = { number: 'number', date: 'date' }[type] as 'number' | 'date' | undefined;
  const form = type === 'timestamp' ? ' Such as 2026-03-02T09:00:00Z.' : '';
  return <TextField {...shared} hint={`${meaning}${form}`} onInput={onInput} type={input ?? 'text'} step="any" />;
}

/** 'due_date' as people read it. */
export const nameOf = (field: string): string => {
  const words = field.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
};
