// The state of the chain of seals, and the long work on the log: to verify it, and to export it.
import { useClient } from '@urql/preact';
import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Chip } from '../../components/chip.tsx';
import { Time } from '../../components/time.tsx';
import { WorkLine } from '../../components/work.tsx';
import { formatNumber } from '../../lib/format.ts';
import { useMe } from '../../lib/me.ts';
import { useStore } from '../../lib/store.ts';
import { startWork, works } from '../../lib/works.ts';
import { ExportDialog } from './export-dialog.tsx';
import { readVerified, type Verified, verify } from './verify.ts';

interface ChainProps {
  head: { hash: string | null; sealedAt: string | null; sealId: string | null } | null;
  since: string;
  until: string;
}

export function Chain({ head, since, until }: ChainProps) {
  const client = useClient();
  const { tenantId, isReadOnly } = useMe();
  const [isExporting, setExporting] = useState(false);
  const isVerifying = useStore(works).some(({ name, state }) => name === 'verify-audit' && state === 'running');
  const verified = readVerified(tenantId);
  const begin = (from: Verified | null) =>
    startWork(
      { name: 'verify-audit', title: 'Verifying the audit log', path: '/audit', unit: 'seals' },
      (report, signal) => verify({ client, tenantId, from, report, signal }),
    );
  return (
    <section class="chain panel" aria-labelledby="chain">
      <div class="chain-head">
        <div>
          <h2 id="chain">
            {head?.sealedAt ? (
              <>
                Sealed to <Time at={head.sealedAt} isExact />,{' '}
              </>
            ) : head ? (
              'Nothing is sealed yet, '
            ) : (
              'Seals: '
            )}
            <VerifiedChip verified={verified} sealId={head?.sealId ?? null} />
          </h2>
          <p class="muted">{explain(verified, head?.sealId ?? null)}</p>
        </div>
        <div class="actions">
          {verified && !verified.isComplete && verified.ok && (
            <Button isDisabled={isVerifying} onClick={() => begin(verified)}>
              Continue
            </Button>
          )}
          <Button look="primary" isBusy={isVerifying} onClick={() => begin(null)}>
            Verify
          </Button>
          {!isReadOnly && <Button onClick={() => setExporting(true)}>Export…</Button>}
        </div>
      </div>
      <WorkLine name="verify-audit" />
      <WorkLine name="export-audit" />
      {isExporting && <ExportDialog since={since} until={until} onClose={() => setExporting(false)} />}
    </section>
  );
}

function VerifiedChip({ verified, sealId }: { verified: Verified | null; sealId: string | null }) {
  if (!verified) return <Chip tone="warn">not verified from here yet</Chip>;
  if (!verified.ok) return <Chip tone="bad">broken</Chip>;
  if (!verified.isComplete) return <Chip tone="warn">verified in part</Chip>;
  return (
    <Chip tone="good" title={`Up to seal ${verified.lastSeal}${sealId ? ` of ${sealId}` : ''}`}>
      verified
    </Chip>
  );
}

function explain(verified: Verified | null, sealId: string | null): string {
  if (!verified)
    return 'To verify compares every row with its seal and every seal with the one before it. You can leave the page meanwhile.';
  const at = new Date(verified.at).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
  if (!verified.ok) {
    const where = [
      verified.brokenSeal && `seal ${verified.brokenSeal}`,
      verified.brokenRow && `row ${verified.brokenRow}`,
    ]
      .filter(Boolean)
      .join(', ');
    return `On ${at}: ${verified.reason}${where ? ` (${where})` : ''}. Keep the database as it is, and ask who had superuser rights.`;
  }
  const since = sealId === null || verified.lastSeal === null ? 0 : Number(sealId) - Number(verified.lastSeal);
  const newer = since > 0 ? ` ${formatNumber(since)} ${since === 1 ? 'seal is' : 'seals are'} newer.` : '';
  return `On ${at}: ${formatNumber(verified.seals)} seals, ${formatNumber(verified.rows)} rows that you may read.${newer} This browser keeps the last hash, so that a later check notices if the end of the chain was cut off.`;
}
