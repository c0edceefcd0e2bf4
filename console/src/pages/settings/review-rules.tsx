// Which memories wait for a reviewer before they count.
import { useState } from 'preact/hooks';
import { Chip } from '../../components/chip.tsx';
import { Check, Select, TextField } from '../../components/field.tsx';
import { type Column, List } from '../../components/list.tsx';
import { Empty, Failure, Ready } from '../../components/states.tsx';
import { toast } from '../../components/toast.tsx';
import { useAction, useData } from '../../lib/data.ts';
import { present, useMe } from '../../lib/me.ts';
import { FormDialog, listOf, textOf } from './form-dialog.tsx';
import { callersQuery, deleteRule, type Rule, rulesQuery, setGenerated, setRejectedAgain, setRule } from './query.ts';
import { Change, Section } from './section.tsx';

const meaningOf = ({ caller, scope, projectId, kinds, source }: Rule): string => {
  const parts = [
    caller === 'job' ? 'what background jobs save' : caller ? `what ${caller} saves` : 'whatever is saved',
    kinds && `of kind ${kinds.join(', ')}`,
    scope && `in ${scope}`,
    projectId && `in project ${projectId}`,
    source && `from ${source}`,
  ];
  return parts.filter(Boolean).join(' ');
};

export function ReviewRules() {
  const { isReadOnly } = useMe();
  const rules = useData(rulesQuery, {});
  const [isAdding, setAdding] = useState(false);
  const deleting = useAction(deleteRule);
  const generated = useAction(setGenerated);
  const again = useAction(setRejectedAgain);
  const error = deleting.error ?? generated.error ?? again.error;
  const done = (text: string) => {
    toast(text);
    rules.refresh();
  };
  const remove = async ({ ruleId }: Rule) => {
    if (await deleting.run({ ruleId })) done('The rule is deleted. What waits goes on waiting.');
  };
  const columns: readonly Column<Rule>[] = [
    { name: 'rule', title: 'Rule', isMain: true, show: (rule) => meaningOf(rule) },
    {
      name: 'needs',
      title: 'Then',
      show: ({ needsReview }) =>
        needsReview ? <Chip tone="warn">waits for a review</Chip> : <Chip tone="good">counts at once</Chip>,
    },
    { name: 'change', title: '', show: (rule) => <Change onClick={() => void remove(rule)}>Delete</Change> },
  ];
  const before = rules.data?.admin?.reviewSettings?.[0]?.rejectedAgain ?? 'refuse';
  return (
    <Section
      title="Review"
      about="By default nothing waits. Where several rules fit a save, the most exact one decides."
      adds="New rule"
      onAdd={() => setAdding(true)}
    >
      {error && <Failure error={error} />}
      <Ready of={rules}>
        {({ admin }) => (
          <div class="stack">
            {(admin?.reviewRules ?? []).length === 0 ? (
              <Empty title="Nothing needs a review">Add a rule, such as: what C saves in global waits.</Empty>
            ) : (
              <List
                caption="Rules of review"
                columns={columns}
                rows={admin?.reviewRules ?? []}
                keyOf={({ ruleId }) => ruleId}
              />
            )}
            {!isReadOnly && (
              <div class="actions">
                <Change
                  onClick={async () =>
                    (await generated.run({ extraction: true, reflection: null })) &&
                    done('What a chat model extracts waits from now on.')
                  }
                >
                  What models extract waits
                </Change>
                <Change
                  onClick={async () =>
                    (await generated.run({ extraction: null, reflection: true })) && done('Lessons wait from now on.')
                  }
                >
                  Lessons wait
                </Change>
              </div>
            )}
            {!isReadOnly && (
              <Select
                label="A text that was rejected comes again"
                value={before}
                onChange={async (value) => (await again.run({ rejectedAgain: value })) && done('Kept')}
                options={[
                  ['refuse', 'refuse it, with the reason'],
                  ['hold', 'hold it as rejected, without asking'],
                ]}
              />
            )}
          </div>
        )}
      </Ready>
      {isAdding && (
        <RuleForm onClose={() => setAdding(false)} onSaved={() => done('The rule holds from the next save on.')} />
      )}
    </Section>
  );
}

function RuleForm({ onClose, onSaved }: { onClose: () => void; onSaved: () => void }) {
  const [caller, setCaller] = useState('');
  const [scope, setScope] = useState('');
  const [project, setProject] = useState('');
  const [kinds, setKinds] = useState('');
  const [needsReview, setNeedsReview] = useState(true);
  const action = useAction(setRule);
  const { data } = useData(callersQuery, {});
  const callers = present(data?.admin?.actors).flatMap(({ caller: name, isActive }) => (isActive && name) || []);
  const scopes = present(data?.scopes?.nodes).flatMap(({ scope: name, isActive }) => (isActive && name) || []);
  const submit = async () => {
    const answer = await action.run({
      caller: textOf(caller),
      scope: textOf(scope),
      projectId: textOf(project),
      kinds: listOf(kinds),
      source: null,
      needsReview,
    });
    if (!answer?.admin?.setReviewRule) return false;
    onSaved();
    return true;
  };
  return (
    <FormDialog title="New rule" does="Add" action={action} onSubmit={submit} onClose={onClose}>
      {(problemOf) => (
        <>
          <p class="muted">What is left empty fits everything.</p>
          <div class="form-row">
            <Select
              label="Caller"
              value={caller}
              onChange={setCaller}
              problem={problemOf('caller')}
              options={[
                ['', 'everybody'],
                ...callers.map((one): [string, string] => [one, one]),
                ['job', 'background jobs'],
              ]}
            />
            <Select
              label="Scope"
              value={scope}
              onChange={setScope}
              problem={problemOf('scope')}
              options={[['', 'every scope'], ...scopes.map((one): [string, string] => [one, one])]}
            />
          </div>
          <div class="form-row">
            <TextField label="Project" value={project} onInput={setProject} problem={problemOf('projectId')} />
            <TextField
              label="Kinds"
              value={kinds}
              onInput={setKinds}
              problem={problemOf('kinds')}
              hint="With commas between."
            />
          </div>
          <Check label="It waits for a review" isOn={needsReview} onChange={setNeedsReview} />
        </>
      )}
    </FormDialog>
  );
}
