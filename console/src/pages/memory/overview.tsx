// The text of a memory, its fields, and where it comes from.
import type { ComponentChildren } from 'preact';
import { Link } from 'wouter-preact';
import { Id } from '../../components/copy.tsx';
import { Facts, Json } from '../../components/fields-view.tsx';
import { Time } from '../../components/time.tsx';
import { formatNumber } from '../../lib/format.ts';
import { present } from '../../lib/me.ts';
import { nameOf } from '../../memory/kind-fields.tsx';
import type { Memory } from './query.ts';

const isThere = (value: object | null) => value !== null && Object.keys(value).length > 0;
const MemoryLink = ({ id }: { id: string }) => (
  <Link href={`/memories/${id}`}>
    <code>{id.slice(-8)}</code>
  </Link>
);

export function Overview({ memory }: { memory: Memory }) {
  // The text of a kind with fields is made of them, so it would be there twice.
  const fields = Object.entries(memory.envelope as Record<string, unknown>).filter(
    ([name, value]) => value !== memory.content || name !== 'content',
  );
  const { creator, source, agent, tool_name: tool, updated_by: updatedBy, ...other } = memory.metadata ?? {};
  return (
    <div class="overview">
      <section class="overview-main">
        <p class="text memory-full" data-testid="content">
          {memory.content}
        </p>
        {fields.length > 0 && (
          <Panel title="Fields">
            <Facts items={fields.map(([name, value]) => [nameOf(name), <Json key={name} value={value} />])} />
          </Panel>
        )}
      </section>
      <aside class="overview-side">
        <Panel title="Where it comes from">
          <Facts
            items={
              [
                ['Writer', creator],
                ['Text by', memory.textCreator],
                ['Source', source],
                ['Tool', tool && <code key="tool">{tool}</code>],
                ['Speaker', memory.speaker],
                ['Last changed by', updatedBy && `${updatedBy.creator} (${updatedBy.tool_name})`],
                [
                  'Thread',
                  memory.threadId && (
                    <Link key="thread" href={`/memories?thread=${encodeURIComponent(memory.threadId)}`}>
                      {memory.threadId}
                    </Link>
                  ),
                ],
                ['Session', memory.sessionId && <code key="session">{memory.sessionId}</code>],
                ['Derived from', present(memory.parentIds).map((id) => <MemoryLink key={id} id={id} />)],
                ['Part of', memory.partOf && <MemoryLink key="part" id={memory.partOf} />],
                ['Provenance', isThere(memory.provenance) && <Json key="provenance" value={memory.provenance} />],
                ['Other', isThere(other) && <Json key="other" value={other} />],
              ].filter(([, value]) => !(Array.isArray(value) && value.length === 0)) as [string, ComponentChildren][]
            }
          />
        </Panel>
        <Panel title="When and how much">
          <Facts
            items={[
              ['Happened', <Time key="happened" at={memory.timestamp} isExact />],
              ['Saved', <Time key="saved" at={memory.createdAt} isExact />],
              [
                'Changed',
                memory.updatedAt !== memory.createdAt && <Time key="changed" at={memory.updatedAt} isExact />,
              ],
              ['Expires', memory.ttl && <Time key="ttl" at={memory.ttl} isExact />],
              ['Importance', formatNumber(memory.importanceScore ?? memory.estimatedImportance)],
              ['Read', memory.accessCount && `${memory.accessCount} ×`],
              ['Last read', memory.lastAccessed && <Time key="read" at={memory.lastAccessed} />],
              ['Contradictions', memory.contradictionCount ? String(memory.contradictionCount) : null],
              ['Language', memory.language],
              ['Id', <Id key="id" id={memory.packetId} />],
            ]}
          />
        </Panel>
      </aside>
    </div>
  );
}

function Panel({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="panel">
      <h2>{title}</h2>
      {children}
    </section>
  );
}
