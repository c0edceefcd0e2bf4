// A pattern of one's own, and an exception.
import { useState } from 'preact/hooks';
import { Select, TextField } from '../../components/field.tsx';
import { useAction } from '../../lib/data.ts';
import { FormDialog, listOf, textOf } from './form-dialog.tsx';
import { registerException, registerPattern } from './query.ts';

interface FormProps {
  onClose: () => void;
  onSaved: () => void;
}

export function PatternForm({ onClose, onSaved }: FormProps) {
  const [name, setName] = useState('');
  const [finds, setFinds] = useState('');
  const [expression, setExpression] = useState('');
  const [keywords, setKeywords] = useState('');
  const [severity, setSeverity] = useState('credential');
  const action = useAction(registerPattern);
  const submit = async () => {
    const answer = await action.run({
      name: name.trim(),
      finds: finds.trim(),
      expression,
      keywords: listOf(keywords),
      severity,
    });
    if (!answer?.admin?.registerSecretPattern) return false;
    onSaved();
    return true;
  };
  return (
    <FormDialog
      title="New pattern"
      does="Add"
      action={action}
      onSubmit={submit}
      onClose={onClose}
      isDisabled={!name.trim() || !expression}
    >
      {(problemOf) => (
        <>
          <TextField
            label="Name"
            isRequired
            value={name}
            onInput={setName}
            problem={problemOf('name')}
            hint="Lower-case letters, digits and -, such as acme-token."
          />
          <TextField
            label="What it finds"
            value={finds}
            onInput={setFinds}
            problem={problemOf('finds')}
            hint="Such as: tokens of the Acme API."
          />
          <TextField
            label="Regular expression"
            isRequired
            value={expression}
            onInput={setExpression}
            problem={problemOf('expression')}
            hint="Its only capturing group, if any, is the secret."
          />
          <TextField
            label="Keywords"
            value={keywords}
            onInput={setKeywords}
            problem={problemOf('keywords')}
            hint="One of them stands in every match. They keep saves fast."
          />
          <Select
            label="It is"
            value={severity}
            onChange={setSeverity}
            options={[
              ['credential', 'a credential'],
              ['personal', 'personal data'],
            ]}
          />
        </>
      )}
    </FormDialog>
  );
}

export function ExceptionForm({ onClose, onSaved }: FormProps) {
  const [expression, setExpression] = useState('');
  const [pattern, setPattern] = useState('');
  const [reason, setReason] = useState('');
  const action = useAction(registerException);
  const submit = async () => {
    const answer = await action.run({ expression, pattern: textOf(pattern), reason: reason.trim() });
    if (!answer?.admin?.registerSecretException) return false;
    onSaved();
    return true;
  };
  return (
    <FormDialog
      title="New exception"
      does="Add"
      action={action}
      onSubmit={submit}
      onClose={onClose}
      isDisabled={!expression || !reason.trim()}
    >
      {(problemOf) => (
        <>
          <TextField
            label="Regular expression"
            isRequired
            value={expression}
            onInput={setExpression}
            problem={problemOf('expression')}
            hint="What it matches from beginning to end is harmless. Callers may read it, so it must hold no credential."
          />
          <TextField
            label="For the pattern"
            value={pattern}
            onInput={setPattern}
            problem={problemOf('pattern')}
            hint="Empty: for all."
          />
          <TextField label="Why" isRequired value={reason} onInput={setReason} problem={problemOf('reason')} />
        </>
      )}
    </FormDialog>
  );
}
