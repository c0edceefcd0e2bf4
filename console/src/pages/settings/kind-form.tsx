// The dialog that registers a kind of memories, or changes one.
import { Button } from '../../components/button.tsx';
import { Select, TextField } from '../../components/field.tsx';
import { FormDialog, useForm } from '../../components/form.tsx';
import { toast } from '../../components/toast.tsx';
import { useAction } from '../../lib/data.ts';
import { present } from '../../lib/me.ts';
import { listOf, textOf } from '../../lib/typed.ts';
import { type FieldRow, fromStored, KindField, noField, toRule } from './kind-field.tsx';
import { type KindRow, registerKind } from './query.ts';

const isTime = ({ type }: FieldRow) => type === 'date' || type === 'timestamp';

/** The place of the field that an error about `fields` names; the first if it names none. */
function placeOf(problem: string, rows: readonly FieldRow[]): number {
  const words = new Set(problem.split(/[\s,:]+/));
  const named = rows.findIndex(({ field }) => field.trim() && words.has(field.trim()));
  const odd = rows.findIndex(({ field }) => field.trim() && !/^[a-z][a-z0-9_]*$/.test(field.trim()));
  return Math.max(0, odd >= 0 ? odd : named);
}

const initial = (row: KindRow | null) => ({
  kind: row?.kind ?? '',
  purpose: row?.purpose ?? '',
  fields: row
    ? present(row.fields.nodes)
        .sort((a, b) => a.place - b.place)
        .map(fromStored)
    : [{ ...noField, field: 'text', isRequired: true }],
  titleField: row?.titleField ?? '',
  textFields: present(row?.textFields).join(', '),
  identityFields: present(row?.identityFields).join(', '),
  archivedFrom: row?.archivedFrom ?? '',
  archivedAfter: row?.archivedAfter ?? '',
  expiresFrom: row?.expiresFrom ?? '',
  expiresAfter: row?.expiresAfter ?? '',
});

interface KindFormProps {
  row: KindRow | null;
  onClose: () => void;
  onSaved: () => void;
}

export function KindForm({ row, onClose, onSaved }: KindFormProps) {
  const action = useAction(registerKind);
  const form = useForm(() => initial(row), action);
  const { fields } = form.values;
  const change = (place: number, part: Partial<FieldRow>) =>
    form.set({ fields: fields.map((one, at) => (at === place ? { ...one, ...part } : one)) });
  const submit = async () => {
    const { values } = form;
    const answer = await action.run({
      ...locking(row),
      kind: values.kind.trim(),
      purpose: values.purpose.trim(),
      fields: fields.filter(({ field }) => field.trim()).map(toRule),
      titleField: textOf(values.titleField),
      textFields: listOf(values.textFields),
      identityFields: listOf(values.identityFields),
      archivedFrom: textOf(values.archivedFrom),
      archivedAfter: textOf(values.archivedAfter),
      expiresFrom: textOf(values.expiresFrom),
      expiresAfter: textOf(values.expiresAfter),
    });
    if (!answer?.admin?.registerMemoryKind) return false;
    toast(`${values.kind} is kept`);
    onSaved();
    return true;
  };
  /** The names of fields, with the present choice, even if its field is renamed or removed by now. */
  const among = (chosen: string, rows: readonly FieldRow[], none: string): [string, string][] => [
    ['', none],
    ...[...new Set([...rows.map(({ field }) => field.trim()), chosen])]
      .filter(Boolean)
      .map((one): [string, string] => [one, one]),
  ];
  const problem = form.problemOf('fields');
  const { titleField, archivedFrom, expiresFrom } = form.values;
  const span = 'Such as 90 days or 1 year.';
  return (
    <FormDialog
      title={row ? `Change ${row.kind}` : 'New kind'}
      does={row ? 'Change' : 'Add'}
      form={form}
      onSubmit={submit}
      onClose={onClose}
    >
      {!row && <TextField label="Name" isRequired hint="A lower-case word, such as lead." {...form.text('kind')} />}
      <TextField label="What it is for" isRequired {...form.text('purpose')} />
      {fields.map((one, place) => (
        <KindField
          key={place}
          place={place + 1}
          row={one}
          problem={problem && placeOf(problem, fields) === place ? problem : null}
          onChange={(part) => change(place, part)}
          onRemove={() => form.set({ fields: fields.filter((_, at) => at !== place) })}
        />
      ))}
      <p>
        <Button onClick={() => form.set({ fields: [...fields, noField] })}>One more field</Button>
      </p>
      <div class="form-row">
        <Select label="Title" options={among(titleField, fields, 'none')} {...form.choice('titleField')} />
        <TextField
          label="The text is made of"
          hint="Fields, with commas between. Empty: the writer gives the text, by default the title."
          {...form.text('textFields')}
        />
      </div>
      <TextField
        label="Two are the same if these are"
        hint="Fields, or content, with commas between. Empty: if their texts are the same."
        {...form.text('identityFields')}
      />
      <div class="form-row">
        <Select
          label="Is archived after"
          options={among(archivedFrom, fields.filter(isTime), 'never')}
          {...form.choice('archivedFrom')}
        />
        <TextField label="Archived how long after" hint={span} {...form.text('archivedAfter')} />
      </div>
      <div class="form-row">
        <Select
          label="Expires after"
          options={among(expiresFrom, fields.filter(isTime), 'never')}
          {...form.choice('expiresFrom')}
        />
        <TextField label="Expires how long after" hint={span} {...form.text('expiresAfter')} />
      </div>
    </FormDialog>
  );
}

/** The rules that the form does not show. */
function locking(row: KindRow | null) {
  if (!row) return {};
  const { identityEndsWhen, lockedWhen, lockedFields, allowedWhenLocked, whenLocked, partOfKind, partOfField } = row;
  const rules = { identityEndsWhen, lockedWhen, lockedFields, allowedWhenLocked, whenLocked, partOfKind, partOfField };
  return Object.fromEntries(Object.entries(rules).filter(([, rule]) => rule !== null)) as Partial<typeof rules>;
}
