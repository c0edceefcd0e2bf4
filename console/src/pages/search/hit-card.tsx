import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { Button } from '../../components/button.tsx';
import { Chip, Scope, Tags } from '../../components/chip.tsx';
import { Time } from '../../components/time.tsx';
import { toast } from '../../components/toast.tsx';
import { useAction } from '../../lib/data.ts';
import { explain } from '../../lib/errors.ts';
import { formatNumber } from '../../lib/format.ts';
import { useMe } from '../../lib/me.ts';
import { DeleteMemory } from '../../memory/delete-memory.tsx';
import { EditMemory } from '../../memory/edit-memory.tsx';
import { ReviewMark } from '../../memory/review-mark.tsx';
import { mayChange } from '../../memory/rights.ts';
import { Writer } from '../../memory/writer.tsx';
import { feedbackMutation, type Hit } from './query.ts';
import { Snippet } from './snippet.tsx';
import { Why } from './why.tsx';

interface HitCardProps {
  hit: Hit;
  /** Something was changed, so that another search may find something else. */
  onChanged: () => void;
}

export function HitCard({ hit, onChanged }: HitCardProps) {
  const me = useMe();
  const [isOpen, setOpen] = useState(false);
  const [dialog, setDialog] = useState<'edit' | 'delete' | null>(null);
  const { memory } = hit;
  const isChangeable = memory !== null && mayChange(me, memory);
  return (
    <li class="hit">
      <div class="hit-head">
        <span class="score" title="Score, from 0 to 1">
          <span class="unseen">Score </span>
          {formatNumber(hit.score)}
        </span>
        <div class="hit-text">
          {memory?.title && <strong>{memory.title}</strong>}
          <Link href={`/memories/${hit.packetId}`}>
            <Snippet text={hit.snippet} />
          </Link>
          <p class="hit-meta">
            <Scope name={hit.scope} />
            <span>{hit.kind}</span>
            {hit.projectId && <span>{hit.projectId}</span>}
            <span title={hit.source ?? undefined}>
              <Writer name={hit.creator} isOwn={hit.isOwn} />
              {hit.textCreator && `, text by ${hit.textCreator}`}
            </span>
            {hit.speaker && <span>{hit.speaker} said it</span>}
            <Time at={hit.timestamp} />
            {hit.supersededBy && (
              <Link class="chip warn" href={`/memories/${hit.supersededBy}`}>
                {hit.isPartlySuperseded ? 'partly superseded' : 'superseded'}
              </Link>
            )}
            {memory && <ReviewMark memory={memory} />}
            <Tags tags={hit.tags} />
          </p>
        </div>
      </div>
      <div class="hit-actions">
        <button type="button" class="button quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          Why
        </button>
        {!me.isReadOnly && <Feedback accessId={hit.accessId} />}
        {isChangeable && (
          <>
            <Button look="quiet" onClick={() => setDialog('edit')}>
              Edit
            </Button>
            <Button look="quiet" onClick={() => setDialog('delete')}>
              Delete
            </Button>
          </>
        )}
        {!isChangeable && !me.isReadOnly && <Chip title="You can change what you wrote yourself">of others</Chip>}
      </div>
      {isOpen && <Why hit={hit} />}
      {dialog === 'edit' && memory && (
        <EditMemory memory={memory} onClose={() => setDialog(null)} onSaved={onChanged} />
      )}
      {dialog === 'delete' && memory && (
        <DeleteMemory memory={memory} onClose={() => setDialog(null)} onDeleted={onChanged} />
      )}
    </li>
  );
}

function Feedback({ accessId }: { accessId: string }) {
  const action = useAction(feedbackMutation);
  const [given, setGiven] = useState<boolean | null>(null);
  const give = async (wasUseful: boolean) => {
    const answer = await action.run({ input: { accessId, wasUseful } });
    if (!answer) return;
    setGiven(wasUseful);
    toast('Thanks: it counts for how much this memory matters');
  };
  return (
    <>
      <Button look="quiet" isPressed={given === true} isBusy={action.isBusy} onClick={() => give(true)}>
        Useful
      </Button>
      <Button look="quiet" isPressed={given === false} isBusy={action.isBusy} onClick={() => give(false)}>
        Not useful
      </Button>
      {action.error && <span class="problem-text">{explain(action.error).text}</span>}
    </>
  );
}
