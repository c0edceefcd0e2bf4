import { Confirm } from '../components/dialog.tsx';
import { Failure } from '../components/states.tsx';
import { toast } from '../components/toast.tsx';
import { useAction } from '../lib/data.ts';
import { deleteMutation } from './query.ts';

interface DeleteMemoryProps {
  memory: { packetId: string; content: string | null; title?: string | null };
  onClose: () => void;
  onDeleted: () => void;
}

export function DeleteMemory({ memory: { packetId, content, title }, onClose, onDeleted }: DeleteMemoryProps) {
  const action = useAction(deleteMutation);
  const confirm = async () => {
    if (!(await action.run({ input: { packetId } }))) return;
    toast('Memory deleted');
    onClose();
    onDeleted();
  };
  return (
    <Confirm title="Delete this memory?" does="Delete" isBusy={action.isBusy} onConfirm={confirm} onClose={onClose}>
      <blockquote class="quote">{title ?? content?.slice(0, 300)}</blockquote>
      <p>
        Nobody finds it any more, and the facts that only it states end with it. The audit log keeps who deleted it and
        when.
      </p>
      {action.error && <Failure error={action.error} />}
    </Confirm>
  );
}
