// What an archive of a session keeps.
import { Check } from '../../components/check.tsx';
import { Ready } from '../../components/states.tsx';
import { useData } from '../../lib/data.ts';
import { present } from '../../lib/me.ts';
import { archiveQuery, setArchive } from './query.ts';
import { Section } from './section.tsx';
import { useSetting } from './use-setting.ts';

const PARTS = [
  ['messages', 'The messages: role and text of each'],
  ['tool_calls', 'The tool calls in them'],
] as const;

export function Archive() {
  const archive = useData(archiveQuery, {});
  return (
    <Section
      title="Archive"
      about="Sessions are archived redacted and encrypted. Besides the summary, times, tool and tags an archive keeps what you choose here, from the next session on."
    >
      <Ready of={archive} rows={2}>
        {({ admin }) => {
          const kept = present(admin?.archiveSettings?.[0]?.archiveFields ?? []);
          return (
            <div class="form">
              {PARTS.map(([part, label]) => (
                <Part key={part} {...{ part, label, kept }} onKept={archive.refresh} />
              ))}
            </div>
          );
        }}
      </Ready>
    </Section>
  );
}

interface PartProps {
  part: string;
  label: string;
  kept: readonly string[];
  onKept: () => void;
}

function Part({ part, label, kept, onKept }: PartProps) {
  const setting = useSetting(setArchive, onKept);
  const change = (isOn: boolean) =>
    setting.keep({ archiveFields: isOn ? [...kept, part] : kept.filter((one) => one !== part) });
  return <Check label={label} isOn={kept.includes(part)} onChange={change} {...setting.field} />;
}
