import { Link } from 'wouter-preact';
import { Chip } from '../../components/chip.tsx';
import { Empty, Ready } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { useData } from '../../lib/data.ts';
import { present } from '../../lib/me.ts';
import { evidenceOfRelations } from './query.ts';

/** The memories that state a relation. */
export function Evidence({ ids }: { ids: readonly string[] }) {
  const relations = useData(evidenceOfRelations, { ids: [...ids] });
  return (
    <Ready of={relations} rows={2}>
      {({ entityRelationships }) => {
        const evidence = present(entityRelationships?.nodes).flatMap((relation) => present(relation.evidence.nodes));
        return evidence.length === 0 ? (
          <Empty title="The memories behind it can no longer be read" />
        ) : (
          <ul class="evidence">
            {evidence.map((one) => (
              <li key={one.evidenceId}>
                <p class="evidence-head">
                  <strong>{one.agent}</strong>
                  {one.isFromAdmin && <Chip tone="info">administrator</Chip>}
                  {one.extractedBy && <Chip title="A chat model read it out of the memory">by {one.extractedBy}</Chip>}
                  <Time at={one.lastSeen} />
                </p>
                {one.memory && (
                  <Link class="evidence-text" href={`/memories/${one.memory.packetId}`}>
                    {one.memory.title ?? one.memory.content ?? 'The memory'}
                  </Link>
                )}
              </li>
            ))}
          </ul>
        );
      }}
    </Ready>
  );
}
