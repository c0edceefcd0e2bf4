import { Link } from 'wouter-preact';

/** Facts and graph are two looks at the same entity. */
export function ViewSwitch({ current, entity }: { current: 'facts' | 'graph'; entity: string }) {
  const name = encodeURIComponent(entity);
  return (
    <nav class="view-switch" aria-label="Facts or graph">
      <Link href={`/facts${entity && `?subject=${name}`}`} aria-current={current === 'facts' ? 'page' : undefined}>
        Facts
      </Link>
      <Link href={`/facts/graph${entity && `?entity=${name}`}`} aria-current={current === 'graph' ? 'page' : undefined}>
        Graph
      </Link>
    </nav>
  );
}
