import { useMemo, useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Check } from '../../components/check.tsx';
import { icons } from '../../components/icon.tsx';
import { List } from '../../components/list.tsx';
import { NewRows } from '../../components/new-rows.tsx';
import { PageView } from '../../components/page-view.tsx';
import { Pager } from '../../components/pager.tsx';
import { Empty, Ready } from '../../components/states.tsx';
import { useAddress } from '../../lib/address.ts';
import { useData } from '../../lib/data.ts';
import { useShortcuts } from '../../lib/keyboard.ts';
import { present, useMe } from '../../lib/me.ts';
import { useStore } from '../../lib/store.ts';
import { NewMemory } from '../../memory/new-memory.tsx';
import { chosen, columnNames, columnsOf, hrefOf, toggleColumn } from './columns.tsx';
import { Filters } from './filters.tsx';
import './memories.css';
import { filterOf, MOST_NEW, memoriesQuery, newMemoriesQuery, PAGE_SIZE, type Row } from './query.ts';
import { Selected } from './selected.tsx';

const POLL_MS = 15_000;

export default function MemoriesView() {
  const { isReadOnly } = useMe();
  const address = useAddress();
  const after = address.get('after');
  const filter = filterOf(address);
  const memories = useData(memoriesQuery, {
    first: PAGE_SIZE,
    after: after || null,
    filter,
    includeArchived: address.get('archived') !== '',
  });
  const rows = present(memories.data?.memories?.nodes);
  const added = useAdded(rows[0], filter, memories.data !== undefined && !after);
  const [selected, setSelected] = useState<ReadonlyMap<string, Row>>(new Map());
  const [isAdding, setAdding] = useState(false);
  const names = useStore(chosen);
  const columns = useMemo(() => columnsOf(names), [names]);
  useShortcuts(
    useMemo(() => (isReadOnly ? [] : [{ keys: 'n', does: 'New memory', run: () => setAdding(true) }]), [isReadOnly]),
  );

  const selection = {
    has: (key: string) => selected.has(key),
    toggle: (keys: readonly string[], isOn: boolean) => {
      const next = new Map(selected);
      for (const row of rows) {
        if (!keys.includes(row.packetId)) continue;
        if (isOn) next.set(row.packetId, row);
        else next.delete(row.packetId);
      }
      setSelected(next);
    },
  };
  const clear = () => setSelected(new Map());
  const refresh = () => {
    clear();
    memories.refresh();
  };

  return (
    <PageView
      title="Memories"
      actions={
        <>
          <Columns names={names} />
          <Button
            icon={icons.refresh}
            label="Read again"
            onClick={memories.refresh}
            isBusy={memories.isRefreshing && !memories.isLoading}
          />
          {!isReadOnly && (
            <Button look="primary" icon={icons.plus} onClick={() => setAdding(true)}>
              New memory
            </Button>
          )}
        </>
      }
    >
      <Filters address={address} />
      <NewRows count={added.count} isMore={added.count === MOST_NEW} onShow={refresh} />
      {selected.size > 0 && <Selected rows={[...selected.values()]} onClear={clear} onDone={refresh} />}
      <Ready of={memories} rows={12}>
        {({ memories: page }) =>
          rows.length === 0 ? (
            <Empty title={filter ? 'No memory matches' : 'No memories yet'}>
              {filter
                ? 'Loosen a filter, or search by meaning on the page Search.'
                : 'What your agents save appears here.'}
            </Empty>
          ) : (
            <>
              <List
                caption="Memories, newest first"
                columns={columns}
                rows={rows}
                keyOf={({ packetId }) => packetId}
                nameOf={(row) => (row.title ?? row.content ?? '').slice(0, 60)}
                hrefOf={hrefOf}
                selection={selection}
              />
              <Pager
                onFirst={after ? () => address.set({ after: null }) : undefined}
                onNext={page?.pageInfo.hasNextPage ? () => address.set({ after: page.pageInfo.endCursor }) : undefined}
              />
            </>
          )
        }
      </Ready>
      {isAdding && <NewMemory onClose={() => setAdding(false)} onSaved={refresh} />}
    </PageView>
  );
}

/** How many memories were saved since the newest one that is shown. */
function useAdded(newest: Row | undefined, filter: ReturnType<typeof filterOf>, isWanted: boolean) {
  const since = newest ? { createdAt: { greaterThan: newest.createdAt } } : {};
  const both = [since, filter ?? {}].filter((one) => Object.keys(one).length > 0);
  const all = both.length > 0 ? { and: both } : undefined;
  const { data } = useData(newMemoriesQuery, { first: MOST_NEW, filter: all }, { pollMs: POLL_MS, skip: !isWanted });
  // An answer to what was asked before the list was read again is about rows that are shown by now.
  return { count: isWanted ? present(data?.memories?.nodes).length : 0 };
}

function Columns({ names }: { names: readonly string[] }) {
  return (
    <details class="menu">
      <summary class="button">Columns</summary>
      <div class="menu-items">
        {columnNames.map(({ name, title }) => (
          <Check key={name} label={title} isOn={names.includes(name)} onChange={(isOn) => toggleColumn(name, isOn)} />
        ))}
      </div>
    </details>
  );
}
