// A pattern of one's own, and an exception.
import { Select, TextField } from '../../components/field.tsx';
import { FormDialog, useForm } from '../../components/form.tsx';
import { useAction } from '../../lib/data.ts';
import { listOf, textOf } from '../../lib/typed.ts';
import { registerException, registerPattern } from './query.ts';

interface FormProps {
  onClose: () => void;
  onSaved: () => void;
}

export function PatternForm({ onClose, onSaved }: FormProps) {
  const action = useAction(registerPattern);
  const form = useForm({ name: '', finds: '', expression: '', keywords: '', severity: 'credential' }, action);
  const submit = async () => {
    const { name, finds, expression, keywords, severity } = form.values;
    const answer = await action.run({
      name: name.trim(),
      finds: finds.trim(),
      expression,
      keywords: listOf(keywords),
      severity,
    });
    if (answer?.admin?.registerSecretPattern) onSaved();
    return Boolean(answer?.admin?.registerSecretPattern);
  };
  return (
    <FormDialog title="New pattern" does="Add" form={form} onSubmit={submit} onClose={onClose}>
      <TextField
        label="Name"
        isRequired
        hint="Lower-case letters, digits and -, such as acme-token."
        {...form.text('name')}
      />
      <TextField label="What it finds" isRequired hint="Such as: tokens of the Acme API." {...form.text('finds')} />
      <TextField
        label="Regular expression"
        isRequired
        hint="Its only capturing group, if any, is the secret."
        {...form.text('expression')}
      />
      <TextField
        label="Keywords"
        hint="One of them stands in every match. They keep saves fast."
        {...form.text('keywords')}
      />
      <Select
        label="It is"
        options={[
          ['credential', 'a credential'],
          ['personal', 'personal data'],
        ]}
        {...form.choice('severity')}
      />
    </FormDialog>
  );
}

export function ExceptionForm({ onClose, onSaved }: FormProps) {
  const action = useAction(registerException);
  const form = useForm({ expression: '', pattern: '', reason: '' }, action);
  const submit = async () => {
    const { expression, pattern, reason } = form.values;
    const answer = await action.run({ expression, pattern: textOf(pattern), reason: reason.trim() });
    if (answer?.admin?.registerSecretException) onSaved();
    return Boolean(answer?.admin?.registerSecretException);
  };
  return (
    <FormDialog title="New exception" does="Add" form={form} onSubmit={submit} onClose={onClose}>
      <TextField
        label="Regular expression"
        isRequired
        hint="What it matches from beginning to end is harmless. Callers may read it, so it must hold no credential."
        {...form.text('expression')}
      />
      <TextField label="For the pattern" hint="Empty: for all." {...form.text('pattern')} />
      <TextField label="Why" isRequired {...form.text('reason')} />
    </FormDialog>
  );
}
