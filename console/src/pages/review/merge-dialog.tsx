// Merges a memory that waits into one that is there: the present one stays, with its text, the new one or a better one.
import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Select, TextArea } from '../../components/field.tsx';
import { Failure } from '../../components/states.tsx';
import type { Item } from './query.ts';
import type { Decisions } from './use-decisions.ts';

export function MergeDialog({ item, decisions, onClose }: { item: Item; decisions: Decisions; onClose: () => void }) {
  const [keep, setKeep] = useState(item.duplicates[0]!);
  const [text, setText] = useState(keep.content);
  const choose = (id: string) => {
    const chosen = item.duplicates.find(({ packetId }) => packetId === id)!;
    setKeep(chosen);
    setText(chosen.content);
  };
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (await decisions.merge(item, keep.packetId, text === keep.content ? null : text)) onClose();
  };
  return (
    <Dialog
      title="Merge"
      isWide
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" form="merge" isBusy={decisions.isBusy} isDisabled={!text.trim()}>
            Merge
          </Button>
        </>
      }
    >
      <form id="merge" class="form" onSubmit={submit}>
        {item.duplicates.length > 1 && (
          <Select
            label="Into"
            value={keep.packetId}
            onChange={choose}
            options={item.duplicates.map(({ packetId, content }) => [packetId, content.slice(0, 90)] as const)}
          />
        )}
        <div class="compared">
          <div class="panel">
            <h3>Present</h3>
            <p class="text">{keep.content}</p>
            <Button onClick={() => setText(keep.content)} isPressed={text === keep.content}>
              Keep this text
            </Button>
          </div>
          <div class="panel">
            <h3>New</h3>
            <p class="text">{item.content}</p>
            <Button onClick={() => setText(item.content)} isPressed={text === item.content}>
              Take this text
            </Button>
          </div>
        </div>
        <TextArea
          label="What stays"
          rows={5}
          value={text}
          onInput={setText}
          hint="One memory is left. The other one stays in its history."
        />
        {decisions.error && <Failure error={decisions.error} />}
      </form>
    </Dialog>
  );
}
