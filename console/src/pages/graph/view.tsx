import './graph.css';
import { Empty, Failure, Loading } from '../../components/states.tsx';
import { useAddress } from '../../lib/address.ts';
import { EntityPage } from '../facts/entity-page.tsx';
import { Drawn } from './drawing.tsx';
import { EntityList } from './entity-list.tsx';
import { EntityPanel } from './entity-panel.tsx';
import { drawingOf, keyOf } from './model.ts';
import { StartingPoints } from './starting-points.tsx';
import { useExpansions } from './use-expansions.ts';

export default function GraphView() {
  const address = useAddress();
  const entity = address.get('entity');
  return (
    <EntityPage
      look="graph"
      title="Graph"
      about="How entities are related, and the memories that say so. Click an entity to open what it is related to."
      label="Entity"
      entity={entity}
      onShow={(name) => address.set({ entity: name, open: null, at: null, edge: null })}
    >
      {entity ? <Around entity={entity} /> : <StartingPoints />}
    </EntityPage>
  );
}

function Around({ entity }: { entity: string }) {
  const address = useAddress();
  const opened = address.all('open');
  const { list, isLoading, error, retry } = useExpansions([entity, ...opened]);
  const drawing = drawingOf(list);
  const start = list[0]?.key ?? keyOf(entity);
  const selected = drawing.entities.get(address.get('at')) ?? drawing.entities.get(start);
  const edge = address.get('edge') || null;

  const select = (key: string) => address.set({ at: key === start ? null : key, edge: null }, { replace: true });
  const open = (key: string) => {
    const one = drawing.entities.get(key);
    if (!one || one.isOpen || isLoading) return select(key);
    address.set({ open: [...opened, one.name], at: key, edge: null });
  };
  const selectEdge = (key: string | null) => address.set({ edge: key }, { replace: true });

  if (error) return <Failure error={error} onRetry={retry} />;
  if (!selected) return <Loading rows={8} label="Reading the graph" />;
  if (drawing.edges.size === 0 && !isLoading) {
    return (
      <Empty title={`Nothing is known to be related to ${entity}`}>
        Among the memories that you may read. Try another of its names.
      </Empty>
    );
  }
  return (
    <div class="graph">
      <Drawn
        drawing={drawing}
        start={start}
        selected={selected.key}
        edge={edge}
        isBusy={isLoading}
        onEntity={open}
        onEdge={(key) => address.set({ edge: key, at: drawing.edges.get(key)!.from }, { replace: true })}
      />
      <div class="graph-side">
        <EntityPanel
          drawing={drawing}
          entity={selected}
          edge={edge}
          onOpen={open}
          onSelect={select}
          onEdge={selectEdge}
        />
        <EntityList drawing={drawing} selected={selected.key} onOpen={open} onSelect={select} />
      </div>
    </div>
  );
}
