// Corrects a memory and approves it, in one step.
import { Dialog } from '../../components/dialog.tsx';
import { Ready } from '../../components/states.tsx';
import { useData } from '../../lib/data.ts';
import { CorrectDialog } from '../../memory/correct-dialog.tsx';
import { type Item, wholeQuery } from './query.ts';
import type { Decisions } from './use-decisions.ts';

const TITLE = 'Correct and approve';

interface EditDialogProps {
  item: Item;
  decisions: Decisions;
  onClose: () => void;
}

export function EditDialog({ item, decisions, onClose }: EditDialogProps) {
  const whole = useData(wholeQuery, { id: item.packetId });
  const memory = whole.data?.memoryByPacketId;
  return memory ? (
    <CorrectDialog
      title={TITLE}
      does="Approve"
      memory={{ ...memory, kind: item.kind }}
      isBusy={decisions.isBusy}
      error={decisions.error}
      onSave={(correction) => decisions.approve([item], correction)}
      onClose={onClose}
    />
  ) : (
    <Dialog title={TITLE} isWide onClose={onClose}>
      <Ready of={whole} rows={3}>
        {() => null}
      </Ready>
    </Dialog>
  );
}
