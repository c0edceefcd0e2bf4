// One memory that waits: its text, who may see it once it is approved, and beside it what it duplicates or contradicts.
import { Link } from 'wouter-preact';
import { Chip, Scope, Tags } from '../../components/chip.tsx';
import { Diff } from '../../components/diff.tsx';
import { Facts, Json } from '../../components/fields-view.tsx';
import { Time } from '../../components/time.tsx';
import type { Duplicate, Item } from './query.ts';

export function ItemView({ item }: { item: Item }) {
  const fields = Object.entries((item.fields ?? {}) as Record<string, unknown>).filter(
    ([name, value]) => name !== 'content' || value !== item.content,
  );
  return (
    <div class="review-parts">
      <section class="panel" aria-label="Waits for a review">
        {item.title && <h2>{item.title}</h2>}
        <p class="text" data-testid="content">
          {item.content}
        </p>
        {item.isTruncated && (
          <p class="muted">
            This is its beginning. <Link href={`/memories/${item.packetId}`}>Read all of it</Link>.
          </p>
        )}
        {fields.length > 0 && (
          <Facts items={fields.map(([name, value]) => [name, <Json key={name} value={value} />])} />
        )}
        <p class="review-about">
          <Chip>{item.kind}</Chip> <Scope name={item.scope} /> {item.projectId && <Chip>{item.projectId}</Chip>}{' '}
          <Tags tags={item.tags} />
        </p>
        <p class="muted">
          {item.creator} saved it <Time at={item.createdAt} />
          {item.toolName && (
            <>
              {' '}
              with <code>{item.toolName}</code>
            </>
          )}
          {item.speaker && `; said by ${item.speaker}`}. <Link href={`/memories/${item.packetId}`}>Open it</Link>
        </p>
      </section>
      {item.rejectedBefore.length > 0 && <Rejections item={item} />}
      {item.contradictions.length > 0 && <Contradictions item={item} />}
      {item.duplicates.length > 0 && (
        <section aria-label="Says nearly the same">
          <h2>Says nearly the same as</h2>
          {item.duplicates.map((duplicate) => (
            <Compared key={duplicate.packetId} item={item} duplicate={duplicate} />
          ))}
        </section>
      )}
      {item.duplicates.length === 0 && item.contradictions.length === 0 && (
        <p class="muted">Nothing says the same, and it contradicts no present fact.</p>
      )}
    </div>
  );
}

function Compared({ item, duplicate }: { item: Item; duplicate: Duplicate }) {
  return (
    <div class="compared">
      <div class="panel">
        <h3>
          Present <Chip>{Math.round(duplicate.similarity * 100)} % alike</Chip>
        </h3>
        <p class="text">{duplicate.content}</p>
        <p class="muted">
          {duplicate.creator}, <Time at={duplicate.createdAt} />.{' '}
          <Link href={`/memories/${duplicate.packetId}`}>Open it</Link>
        </p>
      </div>
      <div class="panel">
        <h3>What would change</h3>
        <Diff from={duplicate.content} to={item.content} />
      </div>
    </div>
  );
}

function Contradictions({ item }: { item: Item }) {
  return (
    <section class="panel warned" aria-label="Contradicts">
      <h2>Contradicts what holds now</h2>
      <ul class="contradictions">
        {item.contradictions.map(
          ({ factId, subject, predicate, presentObject, newObject, creator, isFromAdmin, sourcePacket }) => (
            <li key={factId}>
              <p>
                <strong>{subject}</strong> {predicate}
              </p>
              <dl class="values">
                <div>
                  <dt>Now</dt>
                  <dd>
                    <Json value={presentObject} />
                  </dd>
                </div>
                <div>
                  <dt>New</dt>
                  <dd>
                    <Json value={newObject} />
                  </dd>
                </div>
              </dl>
              <p class="muted">
                The present value is from {creator}, in <Link href={`/memories/${sourcePacket}`}>this memory</Link>.
                {isFromAdmin && ' An administrator states it, so that it stays even if this is approved.'}
              </p>
            </li>
          ),
        )}
      </ul>
    </section>
  );
}

const Rejections = ({ item }: { item: Item }) => (
  <section class="panel warned" aria-label="Rejected before">
    <h2>The same text was rejected before</h2>
    {item.rejectedBefore.map(({ packetId, reviewReason, reviewedAt, reviewedBy }) => (
      <p key={packetId}>
        {reviewReason ?? 'No reason was given'}{' '}
        <span class="muted">
          – {reviewedBy}, <Time at={reviewedAt} />
        </span>
      </p>
    ))}
  </section>
);
