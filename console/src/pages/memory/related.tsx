// What says nearly the same, and the facts and relations that come from a memory.
import type { ComponentChildren } from 'preact';
import { Link } from 'wouter-preact';
import { Chip, Scope } from '../../components/chip.tsx';
import { List } from '../../components/list.tsx';
import { Empty, Ready } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { useData } from '../../lib/data.ts';
import { formatNumber } from '../../lib/format.ts';
import { present } from '../../lib/me.ts';
import { type Memory, similarQuery } from './query.ts';

/** Less than this, and two texts are about different things. */
const SIMILAR = 0.45;
/** As alike as two texts are that say the same in other words. */
const NEARLY_SAME = 0.9;

export function Similar({ memory }: { memory: Memory }) {
  const similar = useData(similarQuery, { id: memory.packetId });
  return (
    <Ready of={similar} rows={4}>
      {({ searchMemory }) => {
        const hits = (searchMemory?.hits ?? [])
          .filter(({ semanticScore }) => (semanticScore ?? 0) >= SIMILAR)
          .sort((a, b) => (b.semanticScore ?? 0) - (a.semanticScore ?? 0));
        if (hits.length === 0)
          return <Empty title="Nothing similar">No other memory that you can read says nearly the same.</Empty>;
        return (
          <List
            caption="Similar memories, the most similar first"
            rows={hits}
            keyOf={({ packetId }) => packetId}
            hrefOf={({ packetId }) => `/memories/${packetId}`}
            columns={[
              {
                name: 'text',
                title: 'Memory',
                isMain: true,
                show: ({ packetId, snippet }) => (
                  <Link href={`/memories/${packetId}`}>{snippet.replaceAll('**', '')}</Link>
                ),
              },
              {
                name: 'alike',
                title: 'Alike',
                isNumber: true,
                show: ({ semanticScore }) => (
                  <>
                    {(semanticScore ?? 0) >= NEARLY_SAME && <Chip tone="warn">nearly the same</Chip>}{' '}
                    {formatNumber(semanticScore ?? 0)}
                  </>
                ),
              },
              { name: 'scope', title: 'Scope', show: ({ scope }) => <Scope name={scope} /> },
              { name: 'writer', title: 'Writer', show: ({ creator }) => creator },
              { name: 'saved', title: 'Saved', show: ({ createdAt }) => <Time at={createdAt} /> },
            ]}
          />
        );
      }}
    </Ready>
  );
}

export function Knowledge({ memory: { facts, relationships } }: { memory: Memory }) {
  const stated = present(facts.nodes);
  const related = present(relationships.nodes);
  if (stated.length + related.length === 0) {
    return (
      <Empty title="No facts or relations">
        Agents state facts with assert_fact and relate, or a model extracts them.
      </Empty>
    );
  }
  return (
    <div class="knowledge">
      {stated.length > 0 && (
        <Part title="Facts">
          {stated.map((fact) => (
            <li key={fact.factId}>
              <strong>{fact.subject}</strong> {fact.predicate.replaceAll('_', ' ')}{' '}
              <strong>{textOf(fact.object)}</strong> <Confidence value={fact.confidence} /> {stateOf(fact)}
              {fact.supersedingPacket && (
                <Link href={`/memories/${fact.supersedingPacket}`}>superseded by another memory</Link>
              )}
            </li>
          ))}
        </Part>
      )}
      {related.length > 0 && (
        <Part title="Relations">
          {related.map((relation) => (
            <li key={relation.relationshipId}>
              <strong>{relation.sourceEntity}</strong> {relation.relationshipType.replaceAll('_', ' ')}{' '}
              <strong>{relation.targetEntity}</strong> <Confidence value={relation.confidence} />
            </li>
          ))}
        </Part>
      )}
    </div>
  );
}

const textOf = (object: unknown) => (typeof object === 'string' ? object : JSON.stringify(object));
const Confidence = ({ value }: { value: number }) => <span class="muted">confidence {formatNumber(value)}</span>;

function stateOf({
  retractedAt,
  supersededAt,
  validTo,
}: {
  retractedAt: string | null;
  supersededAt: string | null;
  validTo: string | null;
}) {
  if (retractedAt) return <Chip tone="bad">retracted</Chip>;
  if (supersededAt) return <Chip tone="warn">superseded</Chip>;
  return validTo ? <Chip>ended</Chip> : null;
}

function Part({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="panel">
      <h2>{title}</h2>
      <ul class="statements">{children}</ul>
    </section>
  );
}
