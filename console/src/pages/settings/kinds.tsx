// Kinds of memories, and their fields.
import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Chip } from '../../components/chip.tsx';
import { Check, Select, TextField } from '../../components/field.tsx';
import { type Column, List } from '../../components/list.tsx';
import { Ready } from '../../components/states.tsx';
import { toast } from '../../components/toast.tsx';
import { useAction, useData } from '../../lib/data.ts';
import { present } from '../../lib/me.ts';
import { FormDialog, textOf } from './form-dialog.tsx';
import { type KindRow, kindRulesQuery, registerKind } from './query.ts';
import { Change, Section } from './section.tsx';

const TYPES = ['text', 'number', 'boolean', 'date', 'timestamp', 'text[]', 'object'];

interface FieldRow {
  field: string;
  type: string;
  is_required: boolean;
  meaning: string;
}
const noField: FieldRow = { field: '', type: 'text', is_required: false, meaning: '' };

export function Kinds() {
  const kinds = useData(kindRulesQuery, {});
  const [edited, setEdited] = useState<KindRow | 'new' | null>(null);
  const columns: readonly Column<KindRow>[] = [
    {
      name: 'kind',
      title: 'Kind',
      isMain: true,
      show: ({ kind, purpose }) => (
        <>
          <strong>{kind}</strong> <span class="muted">{purpose}</span>
        </>
      ),
    },
    { name: 'fields', title: 'Fields', isNumber: true, show: ({ fields }) => fields.nodes.length },
    {
      name: 'owner',
      title: 'From',
      show: ({ tenantId }) => (tenantId ? <Chip tone="info">yours</Chip> : <Chip>built in</Chip>),
    },
    {
      name: 'change',
      title: '',
      show: (row) => row.tenantId && <Change onClick={() => setEdited(row)}>Change</Change>,
    },
  ];
  return (
    <Section
      title="Kinds"
      about="Any name is a kind. One that stands here has fields and rules, which a save obeys."
      adds="New kind"
      onAdd={() => setEdited('new')}
    >
      <Ready of={kinds}>
        {({ memoryKinds }) => (
          <List caption="Kinds" columns={columns} rows={present(memoryKinds?.nodes)} keyOf={({ kindId }) => kindId} />
        )}
      </Ready>
      {edited && (
        <KindForm row={edited === 'new' ? null : edited} onClose={() => setEdited(null)} onSaved={kinds.refresh} />
      )}
    </Section>
  );
}

function KindForm({ row, onClose, onSaved }: { row: KindRow | null; onClose: () => void; onSaved: () => void }) {
  const [kind, setKind] = useState(row?.kind ?? '');
  const [purpose, setPurpose] = useState(row?.purpose ?? '');
  const [fields, setFields] = useState<readonly FieldRow[]>(
    row
      ? present(row.fields.nodes).map(({ field, type, isRequired, meaning }) => ({
          field,
          type,
          is_required: isRequired,
          meaning,
        }))
      : [{ ...noField, field: 'text', is_required: true }],
  );
  const action = useAction(registerKind);
  const change = (index: number, part: Partial<FieldRow>) =>
    setFields(fields.map((one, at) => (at === index ? { ...one, ...part } : one)));
  const submit = async () => {
    const named = fields.filter(({ field }) => field.trim());
    // A kind that exists keeps its fields; only new ones are sent beside them.
    const answer = await action.run({
      kind: kind.trim(),
      purpose: textOf(purpose),
      fields: named.map((one) => ({
        ...one,
        field: one.field.trim(),
        meaning: one.meaning.trim() || one.field.trim(),
      })),
      titleField: null,
      expiresAfter: null,
    });
    if (!answer?.admin?.registerMemoryKind) return false;
    toast(`${kind} is kept`);
    onSaved();
    return true;
  };
  return (
    <FormDialog
      title={row ? `Change ${row.kind}` : 'New kind'}
      does={row ? 'Change' : 'Add'}
      action={action}
      onSubmit={submit}
      onClose={onClose}
      isDisabled={!kind.trim()}
    >
      {(problemOf) => (
        <>
          {!row && (
            <TextField
              label="Name"
              isRequired
              value={kind}
              onInput={setKind}
              problem={problemOf('kind')}
              hint="A lower-case word, such as lead."
            />
          )}
          <TextField label="What it is for" value={purpose} onInput={setPurpose} problem={problemOf('purpose')} />
          {fields.map((one, index) => (
            <fieldset key={index} class="kind-field">
              <legend>Field {index + 1}</legend>
              <div class="form-row">
                <TextField
                  label="Field"
                  value={one.field}
                  onInput={(field) => change(index, { field })}
                  problem={index === 0 ? problemOf('fields') : null}
                />
                <Select
                  label="Type"
                  value={one.type}
                  onChange={(type) => change(index, { type })}
                  options={TYPES.includes(one.type) ? TYPES : [one.type, ...TYPES]}
                />
              </div>
              <TextField label="Meaning" value={one.meaning} onInput={(meaning) => change(index, { meaning })} />
              <Check
                label="Every memory of this kind has it"
                isOn={one.is_required}
                onChange={(isOn) => change(index, { is_required: isOn })}
              />
            </fieldset>
          ))}
          <p>
            <Button onClick={() => setFields([...fields, noField])}>One more field</Button>
          </p>
        </>
      )}
    </FormDialog>
  );
}
