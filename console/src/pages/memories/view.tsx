import { Link } from 'wouter-preact';
import { Scope, Tags } from '../../components/chip.tsx';
import { type Column, List } from '../../components/list.tsx';
import { PageView } from '../../components/page-view.tsx';
import { Pager } from '../../components/pager.tsx';
import { Empty, Ready } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { useAddress } from '../../lib/address.ts';
import { useData } from '../../lib/data.ts';
import type { ResultOf } from '../../lib/graphql.ts';
import { memoriesQuery, PAGE_SIZE } from './query.ts';

type Row = NonNullable<NonNullable<ResultOf<typeof memoriesQuery>['memories']>['nodes'][number]>;

const columns: readonly Column<Row>[] = [
  {
    name: 'text',
    title: 'Memory',
    isMain: true,
    show: (row) => <Link href={`/memories/${row.packetId}`}>{row.title ?? row.content}</Link>,
  },
  { name: 'kind', title: 'Kind', show: ({ kind }) => kind },
  { name: 'scope', title: 'Scope', show: ({ scope }) => <Scope name={scope} /> },
  { name: 'project', title: 'Project', show: ({ projectId }) => projectId },
  { name: 'tags', title: 'Tags', show: ({ tags }) => <Tags tags={tags} /> },
  { name: 'saved', title: 'Saved', show: ({ createdAt }) => <Time at={createdAt} /> },
];

export default function MemoriesView() {
  const address = useAddress();
  const after = address.get('after');
  const memories = useData(memoriesQuery, { first: PAGE_SIZE, after: after || null, filter: null });
  return (
    <PageView title="Memories">
      <Ready of={memories}>
        {({ memories: page }) => {
          const rows = (page?.nodes ?? []).filter((row) => row !== null);
          if (rows.length === 0) return <Empty title="No memories yet">What your agents save appears here.</Empty>;
          return (
            <>
              <List
                caption="Memories, newest first"
                columns={columns}
                rows={rows}
                keyOf={(row) => row.packetId}
                hrefOf={(row) => `/memories/${row.packetId}`}
              />
              <Pager
                onFirst={after ? () => address.set({ after: null }) : undefined}
                onNext={page?.pageInfo.hasNextPage ? () => address.set({ after: page.pageInfo.endCursor }) : undefined}
              />
            </>
          );
        }}
      </Ready>
    </PageView>
  );
}
