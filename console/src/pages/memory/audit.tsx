// The rows of the audit log about one memory.
import { useState } from 'preact/hooks';
import { Chip } from '../../components/chip.tsx';
import { Json } from '../../components/fields-view.tsx';
import { List } from '../../components/list.tsx';
import { Pager } from '../../components/pager.tsx';
import { Empty, Ready } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { useData } from '../../lib/data.ts';
import { present } from '../../lib/me.ts';
import { auditQuery, type Memory } from './query.ts';

const PAGE_SIZE = 25;

export function Audit({ memory }: { memory: Memory }) {
  const [after, setAfter] = useState<string | null>(null);
  const answer = useData(auditQuery, { id: memory.packetId, first: PAGE_SIZE, after });
  return (
    <Ready of={answer}>
      {({ admin }) => {
        const rows = present(admin?.auditLogs?.nodes);
        const page = admin?.auditLogs?.pageInfo;
        if (rows.length === 0) return <Empty title="No rows">The audit log holds nothing about this memory.</Empty>;
        return (
          <>
            <List
              caption="Audit rows of this memory, newest first"
              rows={rows}
              keyOf={({ auditId }) => auditId}
              columns={[
                { name: 'when', title: 'When', show: ({ occurredAt }) => <Time at={occurredAt} isExact /> },
                { name: 'what', title: 'Operation', show: ({ operation }) => <Chip>{operation}</Chip> },
                { name: 'who', title: 'Caller', show: ({ caller }) => caller },
                { name: 'tool', title: 'Tool', show: ({ toolName }) => <code>{toolName}</code> },
                {
                  name: 'result',
                  title: 'Result',
                  show: ({ status, sqlstate }) =>
                    status === 'success' ? <Chip tone="good">done</Chip> : <Chip tone="bad">{sqlstate ?? status}</Chip>,
                },
                {
                  name: 'details',
                  title: 'Details',
                  isMain: true,
                  show: ({ details }) =>
                    Object.keys(details).length > 0 && (
                      <details>
                        <summary>{Object.keys(details).join(', ')}</summary>
                        <Json value={details} />
                      </details>
                    ),
                },
              ]}
            />
            <Pager
              onFirst={after ? () => setAfter(null) : undefined}
              onNext={page?.hasNextPage ? () => setAfter(page.endCursor) : undefined}
            />
          </>
        );
      }}
    </Ready>
  );
}
