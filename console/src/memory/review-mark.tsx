// What a review decided about a memory, or that it has not yet. A memory that needs none has no mark.
import { Link } from 'wouter-preact';
import { Chip } from '../components/chip.tsx';
import { formatTime } from '../lib/format.ts';
import { useMe } from '../lib/me.ts';

interface Reviewed {
  packetId: string;
  reviewState: string | null;
  reviewReason: string | null;
  reviewedBy: string | null;
  reviewedAt: string | null;
}

export function ReviewMark({ memory }: { memory: Reviewed }) {
  return memory.reviewState ? (
    <span class="review-mark">
      <Mark memory={memory} />
    </span>
  ) : null;
}

function Mark({ memory: { packetId, reviewState, reviewReason, reviewedBy, reviewedAt } }: { memory: Reviewed }) {
  const { isAdmin } = useMe();
  const by = reviewedAt ? `by ${reviewedBy ?? 'a reviewer'} at ${formatTime(reviewedAt)}` : '';
  if (reviewState === 'approved')
    return (
      <Chip tone="good" title={reviewReason ?? 'It counts'}>
        approved {by}
      </Chip>
    );
  if (reviewState === 'rejected')
    return (
      <Chip tone="bad" title={`Rejected ${by}`}>
        rejected{reviewReason ? `, because: ${reviewReason}` : ` ${by}`}
      </Chip>
    );
  const means = 'Only its writer and reviewers see it until it is approved';
  return isAdmin ? (
    <Link class="chip warn" href={`/review?item=${packetId}`} title={means}>
      pending review
    </Link>
  ) : (
    <Chip tone="warn" title={means}>
      pending review
    </Chip>
  );
}
