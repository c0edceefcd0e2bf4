// What an archive of a session keeps.
import { Check } from '../../components/field.tsx';
import { Failure, Ready } from '../../components/states.tsx';
import { toast } from '../../components/toast.tsx';
import { useAction, useData } from '../../lib/data.ts';
import { present, useMe } from '../../lib/me.ts';
import { archiveQuery, setArchive } from './query.ts';
import { Section } from './section.tsx';

const PARTS = [
  ['messages', 'The messages: role and text of each'],
  ['tool_calls', 'The tool calls in them'],
] as const;

export function Archive() {
  const { isReadOnly } = useMe();
  const archive = useData(archiveQuery, {});
  const action = useAction(setArchive);
  return (
    <Section
      title="Archive"
      about="Sessions are archived redacted and encrypted. Besides the summary, times, tool and tags an archive keeps what you choose here, from the next session on."
    >
      {action.error && <Failure error={action.error} />}
      <Ready of={archive} rows={2}>
        {({ admin }) => {
          const kept = present(admin?.archiveSettings?.[0]?.archiveFields ?? []);
          const change = async (part: string, isOn: boolean) => {
            const archiveFields = isOn ? [...kept, part] : kept.filter((one) => one !== part);
            if (!(await action.run({ archiveFields }))?.admin?.setArchiveSettings) return;
            toast('Kept');
            archive.refresh();
          };
          return isReadOnly ? (
            <p>{kept.join(', ') || 'Nothing more.'}</p>
          ) : (
            <div class="form">
              {PARTS.map(([part, label]) => (
                <Check
                  key={part}
                  label={label}
                  isOn={kept.includes(part)}
                  onChange={(isOn) => void change(part, isOn)}
                />
              ))}
            </div>
          );
        }}
      </Ready>
    </Section>
  );
}
