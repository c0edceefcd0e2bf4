// The frame of Facts and of Graph, which are two looks at the same entity: the switch between them, and the field that names it.
import './facts.css';
import type { ComponentChildren } from 'preact';
import { Link } from 'wouter-preact';
import { PageView } from '../../components/page-view.tsx';
import { EntityForm } from './entity-form.tsx';

const LOOKS = [
  { look: 'facts', title: 'Facts', path: '/facts', parameter: 'subject' },
  { look: 'graph', title: 'Graph', path: '/facts/graph', parameter: 'entity' },
] as const;

interface EntityPageProps {
  look: 'facts' | 'graph';
  title: string;
  about: string;
  /** What the entity is called here. */
  label: string;
  /** Empty: none is chosen. */
  entity: string;
  /** Shows this entity, or with '' what there is. */
  onShow: (entity: string) => void;
  children: ComponentChildren;
}

export function EntityPage({ look, title, about, label, entity, onShow, children }: EntityPageProps) {
  return (
    <PageView
      title={title}
      about={about}
      actions={
        <nav class="view-switch" aria-label="Facts or graph">
          {LOOKS.map((one) => (
            <Link
              key={one.look}
              href={`${one.path}${entity && `?${one.parameter}=${encodeURIComponent(entity)}`}`}
              aria-current={one.look === look ? 'page' : undefined}
            >
              {one.title}
            </Link>
          ))}
        </nav>
      }
    >
      <EntityForm label={label} value={entity} onShow={onShow} />
      {children}
    </PageView>
  );
}
