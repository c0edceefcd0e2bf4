import { Button } from '../../components/button.tsx';
import { icons } from '../../components/icon.tsx';
import { type Drawing, MAX_ENTITIES } from './model.ts';

interface EntityListProps {
  drawing: Drawing;
  selected: string;
  onOpen: (key: string) => void;
  onSelect: (key: string) => void;
}

/** Every entity of the drawing. */
export function EntityList({ drawing, selected, onOpen, onSelect }: EntityListProps) {
  const entities = [...drawing.entities.values()].sort((a, b) => a.name.localeCompare(b.name));
  return (
    <section class="panel" aria-labelledby="all-entities">
      <h3 id="all-entities">{entities.length} entities in the drawing</h3>
      <ul class="entities">
        {entities.map(({ key, name, isOpen, degree }) => (
          <li key={key}>
            <button type="button" class="as-link" aria-current={key === selected} onClick={() => onSelect(key)}>
              {name}
            </button>
            <span class="muted number" title="Relations in the drawing">
              {degree}
            </span>
            {isOpen ? (
              <span />
            ) : (
              <Button look="quiet" icon={icons.plus} label={`Open ${name}`} onClick={() => onOpen(key)} />
            )}
          </li>
        ))}
      </ul>
      {drawing.isFull && (
        <p class="muted">No more than {MAX_ENTITIES} entities are drawn. Begin at another one to see the rest.</p>
      )}
    </section>
  );
}
