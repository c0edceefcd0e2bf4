// Rejects memories for a reason, or approves many at once.
import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { TextField } from '../../components/field.tsx';
import { Failure } from '../../components/states.tsx';
import { FINDINGS, type Item } from './query.ts';
import { type Decisions, memoriesText, nameOf } from './use-decisions.ts';

const REASONS = [
  'It is wrong',
  'It is out of date',
  'It is known already',
  'It is too private',
  'It is of no use to others',
];

interface DecideDialogProps {
  does: 'Approve' | 'Reject';
  items: readonly Item[];
  decisions: Decisions;
  onClose: () => void;
}

/** The reason is for the agents that wrote them, and stays with a rejected text, which is not asked about again. */
export function DecideDialog({ does, items, decisions, onClose }: DecideDialogProps) {
  const [reason, setReason] = useState('');
  const isRejection = does === 'Reject';
  const given = reason.trim();
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (isRejection && !given) return;
    const isDone = isRejection
      ? await decisions.reject(items, given)
      : await decisions.approve(items, given ? { reason: given } : {});
    if (isDone) onClose();
  };
  return (
    <Dialog
      title={items.length === 1 ? does : `${does} ${memoriesText(items.length)}`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look={isRejection ? 'danger' : 'primary'}
            type="submit"
            form="decide"
            isBusy={decisions.isBusy}
            isDisabled={isRejection && !given}
          >
            {does}
          </Button>
        </>
      }
    >
      <form id="decide" class="form" onSubmit={submit}>
        {items.length === 1 ? <p class="quote">{nameOf(items[0]!)}</p> : <Chosen items={items} />}
        <TextField
          label="Why"
          isRequired={isRejection}
          value={reason}
          {...(isRejection ? { list: REASONS } : {})}
          onInput={setReason}
          hint={items.length === 1 ? 'Its writer reads this.' : 'Their writers read this.'}
        />
        {isRejection && (
          <p class="reasons">
            {REASONS.map((one) => (
              <Button key={one} onClick={() => setReason(one)} isPressed={reason === one}>
                {one}
              </Button>
            ))}
          </p>
        )}
        {decisions.error && <Failure error={decisions.error} />}
      </form>
    </Dialog>
  );
}

/** Numbered, because an error names the place of the memory that it is about. */
function Chosen({ items }: { items: readonly Item[] }) {
  const found = (['contradiction', 'duplicate', 'rejection'] as const).flatMap((name) => {
    const count = items.filter(FINDINGS[name].has).length;
    return count > 0 ? [`${count} ${FINDINGS[name].title}`] : [];
  });
  return (
    <>
      {found.length > 0 && <p class="notice">Of these, {found.join('; ')}.</p>}
      <ol class="chosen" aria-label="Chosen memories">
        {items.map((item) => (
          <li key={item.packetId}>{nameOf(item)}</li>
        ))}
      </ol>
      <p class="muted">All of them or none: one that cannot be decided about stops the others.</p>
    </>
  );
}
