// API keys: made once, shown once, revoked.
import { useState } from 'preact/hooks';
import { Chip } from '../../components/chip.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { type Column, List } from '../../components/list.tsx';
import { Empty, Failure, Ready } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { toast } from '../../components/toast.tsx';
import { useAction, useData } from '../../lib/data.ts';
import { KeyForm, ShownOnce } from './key-form.tsx';
import { type ApiKey, keysQuery, revokeKey } from './query.ts';
import { Change, names, Section } from './section.tsx';

const isExpired = ({ expiresAt }: ApiKey) => expiresAt !== null && Date.parse(expiresAt) < Date.now();

function State({ row }: { row: ApiKey }) {
  if (row.revokedAt) return <Chip tone="bad">revoked</Chip>;
  return isExpired(row) ? <Chip tone="warn">expired</Chip> : <Chip tone="good">valid</Chip>;
}

export function Keys() {
  const keys = useData(keysQuery, {});
  const [isMaking, setMaking] = useState(false);
  const [made, setMade] = useState<string | null>(null);
  const [revoked, setRevoked] = useState<ApiKey | null>(null);
  const columns: readonly Column<ApiKey>[] = [
    { name: 'name', title: 'Key', isMain: true, show: ({ name }) => <strong>{name}</strong> },
    { name: 'caller', title: 'Caller', show: ({ caller }) => caller },
    { name: 'scopes', title: 'Scopes', show: ({ scopes }) => names(scopes) },
    { name: 'projects', title: 'Projects', show: ({ projects }) => names(projects) },
    { name: 'state', title: 'State', show: (row) => <State row={row} /> },
    { name: 'made', title: 'Made', show: ({ createdAt }) => <Time at={createdAt} /> },
    {
      name: 'revoke',
      title: '',
      show: (row) => !row.revokedAt && <Change onClick={() => setRevoked(row)}>Revoke</Change>,
    },
  ];
  return (
    <Section
      title="Keys"
      about="A key says who calls, on every API alike. It is shown once, when it is made; only its hash is kept."
      adds="New key"
      onAdd={() => setMaking(true)}
    >
      <Ready of={keys}>
        {({ admin }) =>
          (admin?.apiKeys ?? []).length === 0 ? (
            <Empty title="No keys in the database yet">
              The keys of L and C that the start made stand in credentials.json of the server.
            </Empty>
          ) : (
            <List caption="Keys" columns={columns} rows={admin?.apiKeys ?? []} keyOf={({ keyId }) => keyId} />
          )
        }
      </Ready>
      {isMaking && (
        <KeyForm
          callers={(keys.data?.admin?.actors ?? []).filter(({ isActive }) => isActive).map(({ caller }) => caller)}
          onClose={() => setMaking(false)}
          onMade={(key) => {
            setMade(key);
            keys.refresh();
          }}
        />
      )}
      {made && <ShownOnce secret={made} onClose={() => setMade(null)} />}
      {revoked && <Revoke row={revoked} onClose={() => setRevoked(null)} onDone={keys.refresh} />}
    </Section>
  );
}

interface RevokeProps {
  row: { keyId: string; name: string };
  onClose: () => void;
  onDone: () => void;
}

export function Revoke({ row, onClose, onDone }: RevokeProps) {
  const action = useAction(revokeKey);
  const confirm = async () => {
    if (!(await action.run({ keyId: row.keyId }))?.admin?.revokeApiKey) return;
    toast(`${row.name} is revoked`);
    onDone();
    onClose();
  };
  return (
    <Confirm title={`Revoke ${row.name}`} does="Revoke" isBusy={action.isBusy} onConfirm={confirm} onClose={onClose}>
      <p>The next call with this key is refused. A key can’t be made valid again.</p>
      {action.error && <Failure error={action.error} />}
    </Confirm>
  );
}
