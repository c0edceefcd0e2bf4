// What is a secret, and what a save does with one.
import { useState } from 'preact/hooks';
import { Check } from '../../components/check.tsx';
import { Chip } from '../../components/chip.tsx';
import { Select } from '../../components/field.tsx';
import { type Column, List } from '../../components/list.tsx';
import { Failure, Ready } from '../../components/states.tsx';
import { toast } from '../../components/toast.tsx';
import { useAction, useData } from '../../lib/data.ts';
import {
  deactivateException,
  deactivatePattern,
  type Exception,
  type Pattern,
  secretsQuery,
  setSecretSettings,
} from './query.ts';
import { ExceptionForm, PatternForm } from './secret-forms.tsx';
import { Change, Section } from './section.tsx';
import { useSetting } from './use-setting.ts';

export function Secrets() {
  const secrets = useData(secretsQuery, {});
  const [adds, setAdds] = useState<'pattern' | 'exception' | null>(null);
  const onSecret = useSetting(setSecretSettings, secrets.refresh);
  const personal = useSetting(setSecretSettings, secrets.refresh);
  const dropPattern = useAction(deactivatePattern);
  const dropException = useAction(deactivateException);
  const error = dropPattern.error ?? dropException.error;
  const done = (text: string) => {
    toast(text);
    secrets.refresh();
  };
  const patternColumns: readonly Column<Pattern>[] = [
    {
      name: 'name',
      title: 'Pattern',
      isMain: true,
      show: ({ name, finds }) => (
        <>
          <strong>{name}</strong> <span class="muted">{finds}</span>
        </>
      ),
    },
    { name: 'severity', title: 'Looked for', show: ({ severity }) => severity },
    {
      name: 'from',
      title: 'From',
      show: ({ tenantId, isActive }) =>
        !isActive ? <Chip tone="bad">off</Chip> : tenantId ? <Chip tone="info">yours</Chip> : <Chip>built in</Chip>,
    },
    {
      name: 'change',
      title: '',
      show: ({ name, tenantId, isActive }) =>
        tenantId &&
        isActive && (
          <Change onClick={async () => (await dropPattern.run({ name })) && done(`${name} is switched off`)}>
            Switch off
          </Change>
        ),
    },
  ];
  const exceptionColumns: readonly Column<Exception>[] = [
    {
      name: 'expression',
      title: 'Exception',
      isMain: true,
      show: ({ expression, reason }) => (
        <>
          <code>{expression}</code> <span class="muted">{reason}</span>
        </>
      ),
    },
    { name: 'pattern', title: 'For', show: ({ pattern }) => pattern ?? 'all patterns' },
    {
      name: 'change',
      title: '',
      show: ({ exceptionId, isActive }) =>
        isActive ? (
          <Change
            onClick={async () => (await dropException.run({ exceptionId })) && done('The exception is switched off')}
          >
            Switch off
          </Change>
        ) : (
          <Chip tone="bad">off</Chip>
        ),
    },
  ];
  return (
    <div class="stack">
      {error && <Failure error={error} />}
      <Section title="Secrets" about="Every write is compared with these patterns, by the database itself.">
        <Ready of={secrets} rows={2}>
          {({ admin }) => (
            <div class="form">
              <Select
                label="A write that holds a secret"
                value={admin?.secretSettings?.[0]?.onSecret ?? 'refuse'}
                onChange={(value) => onSecret.keep({ onSecret: value, guardsPersonalData: null })}
                options={[
                  ['refuse', 'is refused'],
                  ['redact', 'is stored with [redacted] in its place'],
                  ['allow', 'is stored, and the audit log names the pattern'],
                ]}
                {...onSecret.field}
              />
              <Check
                label="Personal data, such as card numbers, counts as a secret"
                isOn={admin?.secretSettings?.[0]?.guardsPersonalData ?? false}
                onChange={(isOn) => personal.keep({ onSecret: null, guardsPersonalData: isOn })}
                {...personal.field}
              />
            </div>
          )}
        </Ready>
      </Section>
      <Section
        title="Exceptions"
        about="Texts that look like a secret and are harmless."
        adds="New exception"
        onAdd={() => setAdds('exception')}
      >
        <Ready of={secrets} rows={2}>
          {({ admin }) =>
            (admin?.secretExceptions ?? []).length === 0 ? (
              <p class="muted">There are no exceptions.</p>
            ) : (
              <List
                caption="Exceptions"
                columns={exceptionColumns}
                rows={admin?.secretExceptions ?? []}
                keyOf={({ exceptionId }) => exceptionId}
              />
            )
          }
        </Ready>
      </Section>
      <Section
        title="Patterns"
        about="Yours stand first. A built-in one stays; an exception says what it must not find."
        adds="New pattern"
        onAdd={() => setAdds('pattern')}
      >
        <Ready of={secrets}>
          {({ admin }) => (
            <List
              caption="Patterns"
              columns={patternColumns}
              rows={[...(admin?.secretPatterns ?? [])].sort(
                (a, b) => Number(b.tenantId !== null) - Number(a.tenantId !== null),
              )}
              keyOf={({ patternId }) => patternId}
            />
          )}
        </Ready>
      </Section>
      {adds === 'pattern' && (
        <PatternForm onClose={() => setAdds(null)} onSaved={() => done('The pattern holds from the next write on')} />
      )}
      {adds === 'exception' && (
        <ExceptionForm
          onClose={() => setAdds(null)}
          onSaved={() => done('The exception holds from the next write on')}
        />
      )}
    </div>
  );
}
