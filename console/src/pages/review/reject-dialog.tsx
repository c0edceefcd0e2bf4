import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { TextField } from '../../components/field.tsx';
import { Failure } from '../../components/states.tsx';
import type { Item } from './query.ts';
import { type Decisions, nameOf } from './use-decisions.ts';

const REASONS = [
  'It is wrong',
  'It is out of date',
  'It is known already',
  'It is too private',
  'It is of no use to others',
];

/** The reason is for the agent that wrote it, and stays with the text, which is not asked about again. */
export function RejectDialog({ item, decisions, onClose }: { item: Item; decisions: Decisions; onClose: () => void }) {
  const [reason, setReason] = useState('');
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (reason.trim() && (await decisions.reject(item, reason.trim()))) onClose();
  };
  return (
    <Dialog
      title="Reject"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="danger" type="submit" form="reject" isBusy={decisions.isBusy} isDisabled={!reason.trim()}>
            Reject
          </Button>
        </>
      }
    >
      <form id="reject" class="form" onSubmit={submit}>
        <p class="quote">{nameOf(item)}</p>
        <TextField
          label="Why"
          isRequired
          value={reason}
          list={REASONS}
          onInput={setReason}
          hint="Its writer reads this."
        />
        <p class="reasons">
          {REASONS.map((one) => (
            <Button key={one} onClick={() => setReason(one)} isPressed={reason === one}>
              {one}
            </Button>
          ))}
        </p>
        {decisions.error && <Failure error={decisions.error} />}
      </form>
    </Dialog>
  );
}
