// The selected entity and its relations, which says the same as the drawing: for keyboards, and for those who don't see it.
import { Link } from 'wouter-preact';
import { Button } from '../../components/button.tsx';
import { Scope } from '../../components/chip.tsx';
import { icons } from '../../components/icon.tsx';
import { Evidence } from './evidence.tsx';
import { type Drawing, type Edge, type Entity, edgesOf, typeText } from './model.ts';

interface EntityPanelProps {
  drawing: Drawing;
  entity: Entity;
  edge: string | null;
  onOpen: (key: string) => void;
  onSelect: (key: string) => void;
  onEdge: (key: string | null) => void;
}

export function EntityPanel({ drawing, entity, edge, onOpen, onSelect, onEdge }: EntityPanelProps) {
  const edges = edgesOf(drawing, entity.key);
  return (
    <section class="panel entity" aria-labelledby="entity-name">
      <header>
        <h2 id="entity-name">{entity.name}</h2>
        {!entity.isOpen && (
          <Button icon={icons.plus} onClick={() => onOpen(entity.key)}>
            Open
          </Button>
        )}
      </header>
      <p class="entity-links">
        <Link href={`/facts?subject=${encodeURIComponent(entity.name)}`}>Its facts</Link>
        <Link href={`/facts/graph?entity=${encodeURIComponent(entity.name)}`}>Begin the graph here</Link>
      </p>
      <ul class="relations" aria-label={`Relations of ${entity.name}`}>
        {edges.map((one) => (
          <Related
            key={one.key}
            edge={one}
            drawing={drawing}
            of={entity}
            isShown={one.key === edge}
            onSelect={onSelect}
            onEdge={onEdge}
          />
        ))}
      </ul>
      {entity.hasMore && <p class="muted">It has more relations; the most confident ones are shown.</p>}
      {!entity.isOpen && <p class="muted">It may have more relations: open it to see them.</p>}
    </section>
  );
}

interface RelatedProps {
  edge: Edge;
  drawing: Drawing;
  of: Entity;
  isShown: boolean;
  onSelect: (key: string) => void;
  onEdge: (key: string | null) => void;
}

function Related({ edge, drawing, of, isShown, onSelect, onEdge }: RelatedProps) {
  const leads = edge.from === of.key;
  const other = drawing.entities.get(leads ? edge.to : edge.from)!;
  const name = (
    <button type="button" class="as-link" onClick={() => onSelect(other.key)}>
      {other.name}
    </button>
  );
  return (
    <li class={isShown ? 'shown' : ''}>
      <div class="relation">
        <span class="relation-text">
          {leads ? (
            <>
              <span class="predicate">{typeText(edge.type)}</span> {name}
            </>
          ) : (
            <>
              {name} <span class="predicate">{typeText(edge.type)}</span> it
            </>
          )}
          {edge.scopes
            .filter((scope) => scope !== 'developer')
            .map((scope) => (
              <Scope key={scope} name={scope} />
            ))}
        </span>
        <span class="muted number">{Math.round(edge.confidence * 100)} %</span>
        <button type="button" class="as-link" aria-expanded={isShown} onClick={() => onEdge(isShown ? null : edge.key)}>
          Memories
          <span class="unseen">
            {' '}
            behind {typeText(edge.type)} {other.name}
          </span>
        </button>
      </div>
      {isShown && <Evidence ids={edge.ids} />}
    </li>
  );
}
