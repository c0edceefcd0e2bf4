// Which memories wait for a reviewer before they count.
import { useState } from 'preact/hooks';
import { Check } from '../../components/check.tsx';
import { Chip } from '../../components/chip.tsx';
import { Select } from '../../components/field.tsx';
import { type Column, List } from '../../components/list.tsx';
import { Empty, Failure, Ready } from '../../components/states.tsx';
import { toast } from '../../components/toast.tsx';
import { useAction, useData } from '../../lib/data.ts';
import { deleteRule, type Rule, rulesQuery, setGenerated, setRejectedAgain } from './query.ts';
import { RuleForm } from './rule-form.tsx';
import { Change, Section } from './section.tsx';
import { useSetting } from './use-setting.ts';

export const meaningOf = ({ caller, scope, projectId, kinds, source }: Rule): string => {
  const parts = [
    caller === 'job' ? 'what background jobs save' : caller ? `what ${caller} saves` : 'whatever is saved',
    kinds && `of kind ${kinds.join(', ')}`,
    scope && `in ${scope}`,
    projectId && `in project ${projectId}`,
    source && `from ${source}`,
  ];
  return parts.filter(Boolean).join(' ');
};

/** True if what this rule is about are all memories of a kind, as set_generated_review() says it. */
const isAbout = (kind: string) => (rule: Rule) =>
  rule.needsReview && rule.kinds?.join() === kind && !rule.caller && !rule.scope && !rule.projectId && !rule.source;

export function ReviewRules() {
  const rules = useData(rulesQuery, {});
  const [isAdding, setAdding] = useState(false);
  const deleting = useAction(deleteRule);
  const extraction = useSetting(setGenerated, rules.refresh);
  const reflection = useSetting(setGenerated, rules.refresh);
  const again = useSetting(setRejectedAgain, rules.refresh);
  const remove = async ({ ruleId }: Rule) => {
    if (!(await deleting.run({ ruleId }))) return;
    toast('The rule is deleted. What waits goes on waiting.');
    rules.refresh();
  };
  const columns: readonly Column<Rule>[] = [
    { name: 'rule', title: 'Rule', isMain: true, show: (rule) => meaningOf(rule) },
    {
      name: 'needs',
      title: 'Then',
      show: ({ needsReview }) =>
        needsReview ? <Chip tone="warn">waits for a review</Chip> : <Chip tone="good">counts at once</Chip>,
    },
    { name: 'change', title: '', show: (rule) => <Change onClick={() => remove(rule)}>Delete</Change> },
  ];
  return (
    <Section
      title="Review"
      about="By default nothing waits. Where several rules fit a save, the most exact one decides."
      adds="New rule"
      onAdd={() => setAdding(true)}
    >
      {deleting.error && <Failure error={deleting.error} />}
      <Ready of={rules}>
        {({ admin }) => {
          const list = admin?.reviewRules ?? [];
          return (
            <div class="stack">
              {list.length === 0 ? (
                <Empty title="Nothing needs a review">Add a rule, such as: what C saves in global waits.</Empty>
              ) : (
                <List caption="Rules of review" columns={columns} rows={list} keyOf={({ ruleId }) => ruleId} />
              )}
              <div class="form">
                <Check
                  label="What a chat model extracts waits"
                  isOn={list.some(isAbout('extraction'))}
                  onChange={(isOn) => extraction.keep({ extraction: isOn, reflection: null })}
                  {...extraction.field}
                />
                <Check
                  label="Lessons of agents wait"
                  isOn={list.some(isAbout('reflection'))}
                  onChange={(isOn) => reflection.keep({ extraction: null, reflection: isOn })}
                  {...reflection.field}
                />
                <Select
                  label="A text that was rejected comes again"
                  value={admin?.reviewSettings?.[0]?.rejectedAgain ?? 'refuse'}
                  onChange={(rejectedAgain) => again.keep({ rejectedAgain })}
                  options={[
                    ['refuse', 'refuse it, with the reason'],
                    ['hold', 'hold it as rejected, without asking'],
                  ]}
                  {...again.field}
                />
              </div>
            </div>
          );
        }}
      </Ready>
      {isAdding && (
        <RuleForm
          onClose={() => setAdding(false)}
          onSaved={() => {
            toast('The rule holds from the next save on.');
            rules.refresh();
          }}
        />
      )}
    </Section>
  );
}
