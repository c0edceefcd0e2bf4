// What keys, callers and rules of review say of a project.
import { useState } from 'preact/hooks';
import { Chip } from '../../components/chip.tsx';
import { List } from '../../components/list.tsx';
import { Failure } from '../../components/states.tsx';
import { toast } from '../../components/toast.tsx';
import { useAction } from '../../lib/data.ts';
import { formatNumber } from '../../lib/format.ts';
import { present, useMe } from '../../lib/me.ts';
import { KeyForm, ShownOnce } from './key-form.tsx';
import { Revoke } from './keys.tsx';
import { deleteRule, type ProjectsData, registerActor } from './query.ts';
import { meaningOf } from './review-rules.tsx';
import { RuleForm } from './rule-form.tsx';
import { Change, Section } from './section.tsx';

export interface ProjectProps {
  name: string;
  known: ProjectsData;
  onChanged: () => void;
}

export function KeysOf({ name, known: { admin }, onChanged }: ProjectProps) {
  const [isMaking, setMaking] = useState(false);
  const [made, setMade] = useState<string | null>(null);
  const [revoked, setRevoked] = useState<{ keyId: string; name: string } | null>(null);
  const valid = present(admin?.apiKeys).filter(({ revokedAt }) => !revokedAt);
  const own = valid.filter(({ projects }) => projects?.includes(name));
  const unlimited = valid.filter(({ projects }) => projects === null).length;
  return (
    <Section
      title="Keys"
      about={`Limited to this project, alone or among others. ${formatNumber(unlimited)} more in the database, and those of L and C that the start made, work in every project.`}
      adds="New key"
      onAdd={() => setMaking(true)}
    >
      {own.length === 0 ? (
        <p class="muted">No key is limited to it.</p>
      ) : (
        <List
          caption="Keys of the project"
          columns={[
            { name: 'name', title: 'Key', isMain: true, show: (key) => <strong>{key.name}</strong> },
            { name: 'caller', title: 'Caller', show: ({ caller }) => caller },
            { name: 'projects', title: 'Projects', show: ({ projects }) => present(projects).join(', ') },
            { name: 'revoke', title: '', show: (key) => <Change onClick={() => setRevoked(key)}>Revoke</Change> },
          ]}
          rows={own}
          keyOf={({ keyId }) => keyId}
        />
      )}
      {isMaking && (
        <KeyForm
          callers={present(admin?.actors).flatMap(({ caller, isActive }) => (isActive ? [caller] : []))}
          project={name}
          onClose={() => setMaking(false)}
          onMade={(key) => {
            setMade(key);
            onChanged();
          }}
        />
      )}
      {made && <ShownOnce secret={made} onClose={() => setMade(null)} />}
      {revoked && <Revoke row={revoked} onClose={() => setRevoked(null)} onDone={onChanged} />}
    </Section>
  );
}

export function CallersOf({ name, known: { admin }, onChanged }: ProjectProps) {
  const action = useAction(registerActor);
  const me = useMe();
  const change = async (caller: string, defaultProject: string) => {
    if (!(await action.run({ caller, defaultProject }))) return;
    toast(defaultProject ? `${caller} saves in ${name} by default` : `${caller} has no default project`);
    onChanged();
  };
  return (
    <Section
      title="Callers"
      about="Whose memories belong to this project if they name none, and their key has no other."
    >
      {action.error && <Failure error={action.error} />}
      <List
        caption="Callers and the project"
        columns={[
          { name: 'caller', title: 'Caller', isMain: true, show: ({ caller }) => <strong>{caller}</strong> },
          { name: 'default', title: 'Default', show: ({ defaultProject }) => defaultProject ?? 'none' },
          {
            name: 'change',
            title: '',
            show: ({ caller, defaultProject }) =>
              caller === me.caller ? (
                <span class="muted">you</span>
              ) : defaultProject === name ? (
                <Change onClick={() => change(caller, '')}>Remove the default</Change>
              ) : (
                <Change onClick={() => change(caller, name)}>Make it the default</Change>
              ),
          },
        ]}
        rows={present(admin?.actors).filter(({ isActive }) => isActive)}
        keyOf={({ caller }) => caller}
      />
    </Section>
  );
}

export function RulesOf({ name, known: { admin }, onChanged }: ProjectProps) {
  const [isAdding, setAdding] = useState(false);
  const deleting = useAction(deleteRule);
  const own = present(admin?.reviewRules).filter(({ projectId }) => projectId === name);
  const remove = async (ruleId: string) => {
    if (!(await deleting.run({ ruleId }))) return;
    toast('The rule is deleted. What waits goes on waiting.');
    onChanged();
  };
  const chip = (needsReview: boolean) =>
    needsReview ? <Chip tone="warn">waits for a review</Chip> : <Chip tone="good">counts at once</Chip>;
  return (
    <Section
      title="Rules of review"
      about="Rules that name no project hold here, too."
      adds="New rule"
      onAdd={() => setAdding(true)}
    >
      {deleting.error && <Failure error={deleting.error} />}
      {own.length === 0 ? (
        <p class="muted">No rule names it.</p>
      ) : (
        <List
          caption="Rules of the project"
          columns={[
            { name: 'rule', title: 'Rule', isMain: true, show: (rule) => meaningOf(rule) },
            { name: 'needs', title: 'Then', show: ({ needsReview }) => chip(needsReview) },
            { name: 'change', title: '', show: ({ ruleId }) => <Change onClick={() => remove(ruleId)}>Delete</Change> },
          ]}
          rows={own}
          keyOf={({ ruleId }) => ruleId}
        />
      )}
      {isAdding && (
        <RuleForm
          project={name}
          onClose={() => setAdding(false)}
          onSaved={() => {
            toast('The rule holds from the next save on.');
            onChanged();
          }}
        />
      )}
    </Section>
  );
}
