// The dialog that adds a rule of review.
import { Check } from '../../components/check.tsx';
import { Select, TextField } from '../../components/field.tsx';
import { FormDialog, useForm } from '../../components/form.tsx';
import { useAction, useData } from '../../lib/data.ts';
import { present } from '../../lib/me.ts';
import { listOf, textOf } from '../../lib/typed.ts';
import { callersQuery, setRule } from './query.ts';

interface RuleFormProps {
  /** The project that the rule is about, unless that is changed. */
  project?: string;
  onClose: () => void;
  onSaved: () => void;
}

export function RuleForm({ project = '', onClose, onSaved }: RuleFormProps) {
  const action = useAction(setRule);
  const form = useForm({ caller: '', scope: '', projectId: project, kinds: '', source: '', needsReview: true }, action);
  const { data } = useData(callersQuery, {});
  const callers = present(data?.admin?.actors).flatMap(({ caller, isActive }) => (isActive ? [caller] : []));
  const scopes = present(data?.scopes?.nodes).flatMap(({ scope, isActive }) => (isActive ? [scope] : []));
  const submit = async () => {
    const { caller, scope, projectId, kinds, source, needsReview } = form.values;
    const answer = await action.run({
      caller: textOf(caller),
      scope: textOf(scope),
      projectId: textOf(projectId),
      kinds: listOf(kinds),
      source: textOf(source),
      needsReview,
    });
    if (answer?.admin?.setReviewRule) onSaved();
    return Boolean(answer?.admin?.setReviewRule);
  };
  return (
    <FormDialog title="New rule" does="Add" form={form} onSubmit={submit} onClose={onClose}>
      <p class="muted">What is left empty fits everything.</p>
      <div class="form-row">
        <Select
          label="Caller"
          options={[
            ['', 'everybody'],
            ...callers.map((one): [string, string] => [one, one]),
            ['job', 'background jobs'],
          ]}
          {...form.choice('caller')}
        />
        <Select
          label="Scope"
          options={[['', 'every scope'], ...scopes.map((one): [string, string] => [one, one])]}
          {...form.choice('scope')}
        />
      </div>
      <div class="form-row">
        <TextField label="Project" {...form.text('projectId')} />
        <TextField label="Kinds" hint="With commas between." {...form.text('kinds')} />
      </div>
      <TextField label="Source" hint="As stamped on the memory, such as cursor-ide." {...form.text('source')} />
      <Check label="It waits for a review" {...form.tick('needsReview')} />
    </FormDialog>
  );
}
