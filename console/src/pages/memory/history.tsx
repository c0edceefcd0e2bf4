// The versions of a memory, newest first: what each change did, and a way back.
import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Chip } from '../../components/chip.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { Diff } from '../../components/diff.tsx';
import { Failure, Ready } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { toast } from '../../components/toast.tsx';
import { useAction, useData } from '../../lib/data.ts';
import { present, useMe } from '../../lib/me.ts';
import { updateMutation } from '../../memory/query.ts';
import { mayChange } from '../../memory/rights.ts';
import { historyQuery, type Memory, type Version } from './query.ts';
import { restorationOf } from './restore.ts';

/** Kept by the database, and not shown as changes. */
const SILENT = new Set(['content', 'metadata']);

export function History({ memory, onChanged }: { memory: Memory; onChanged: () => void }) {
  const history = useData(historyQuery, { id: memory.packetId });
  const [restored, setRestored] = useState<Version | null>(null);
  const isChangeable = mayChange(useMe(), memory);
  return (
    <Ready of={history} rows={4}>
      {({ memoryHistory }) => {
        const versions = present(memoryHistory);
        return (
          <ol class="versions">
            {versions.map((version, index) => (
              <li key={version.version}>
                <header>
                  <strong>{index === versions.length - 1 ? 'Saved' : `Change ${(version.version ?? 1) - 1}`}</strong>
                  <Time at={version.changedAt} isExact />
                  <span class="muted">
                    {version.creator} · <code>{version.toolName}</code>
                  </span>
                  <span class="space" />
                  {index === 0 ? (
                    <Chip tone="good">now</Chip>
                  ) : (
                    isChangeable && <Button onClick={() => setRestored(version)}>Restore</Button>
                  )}
                </header>
                <Changes version={version} before={versions[index + 1]} />
              </li>
            ))}
            {restored && (
              <Restore
                memory={memory}
                version={restored}
                onClose={() => setRestored(null)}
                onDone={() => {
                  history.refresh();
                  onChanged();
                }}
              />
            )}
          </ol>
        );
      }}
    </Ready>
  );
}

function Changes({ version, before }: { version: Version; before: Version | undefined }) {
  if (!before) return <p class="text">{version.content}</p>;
  const fields = present(version.changedFields).filter((field) => !SILENT.has(field));
  return (
    <>
      {version.content !== before.content && <Diff from={before.content ?? ''} to={version.content ?? ''} />}
      {fields.map((field) => (
        <div key={field} class="changed-field">
          <span class="muted">{field.replaceAll('_', ' ')}</span>
          <Diff from={textOf(before.state[field])} to={textOf(version.state[field])} />
        </div>
      ))}
    </>
  );
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value.join(', ');
  return typeof value === 'object' ? JSON.stringify(value, null, 1) : String(value);
}

interface RestoreProps {
  memory: Memory;
  version: Version;
  onClose: () => void;
  onDone: () => void;
}

function Restore({ memory, version, onClose, onDone }: RestoreProps) {
  const update = useAction(updateMutation);
  const { names, input } = restorationOf(memory, version);
  const confirm = async () => {
    const answer = await update.run({
      input: { packetId: memory.packetId, expectedVersion: memory.updatedAt, ...input },
    });
    if (!answer) return;
    toast('Restored. What was there stays in the history.');
    onClose();
    onDone();
  };
  return (
    <Confirm
      title="Restore this version?"
      does="Restore"
      isDangerous={false}
      isBusy={update.isBusy}
      onConfirm={confirm}
      onClose={onClose}
    >
      {names.length === 0 ? <p>Nothing differs from what is there now.</p> : <p>Brings back: {names.join(', ')}.</p>}
      <Diff from={memory.content ?? ''} to={version.content ?? ''} />
      {update.error && <Failure error={update.error} />}
    </Confirm>
  );
}
