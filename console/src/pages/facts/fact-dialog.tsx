// One fact: the memories that state it, what it replaced and what replaced it; and the way to retract it.
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { Button } from '../../components/button.tsx';
import { Chip, Scope } from '../../components/chip.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { TextField } from '../../components/field.tsx';
import { Facts, Json } from '../../components/fields-view.tsx';
import { useForm } from '../../components/form.tsx';
import { Empty, Failure, Ready } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { toast } from '../../components/toast.tsx';
import { useAction, useData } from '../../lib/data.ts';
import { present, useMe } from '../../lib/me.ts';
import { type Detail, factQuery, retractFact } from './query.ts';
import { objectText, percent, stateOf, validity } from './state.ts';

export function FactDialog({ factId, onClose }: { factId: string; onClose: () => void }) {
  const fact = useData(factQuery, { factId });
  const [isRetracting, setRetracting] = useState(false);
  const { isReadOnly } = useMe();
  const found = fact.data?.factByFactId;
  return (
    <Dialog
      title="Where this fact comes from"
      isWide
      onClose={onClose}
      actions={
        <>
          {found && !found.retractedAt && !isReadOnly && !isRetracting && (
            <Button onClick={() => setRetracting(true)}>Retract…</Button>
          )}
          <Button look="primary" onClick={onClose}>
            Close
          </Button>
        </>
      }
    >
      <Ready of={fact} rows={4}>
        {({ factByFactId }) =>
          factByFactId ? <Shown fact={factByFactId} /> : <Empty title="There is no such fact, or you may not read it" />
        }
      </Ready>
      {isRetracting && (
        <Retract
          factId={factId}
          onDone={() => {
            setRetracting(false);
            fact.refresh();
          }}
        />
      )}
    </Dialog>
  );
}

function Shown({ fact }: { fact: Detail }) {
  const { tone, name, means } = stateOf(fact);
  const replaced = present(fact.replaced.nodes);
  const evidence = present(fact.evidence.nodes);
  return (
    <>
      <p class="fact-title">
        {fact.subject} <span class="predicate">{fact.predicate}</span>{' '}
        {typeof fact.object === 'object' ? '' : objectText(fact.object)}{' '}
        <Chip tone={tone} title={means}>
          {name}
        </Chip>
      </p>
      {typeof fact.object === 'object' && <Json value={fact.object} />}
      <Facts
        items={[
          ['Held', name === 'outranked' || name === 'retracted' ? null : validity(fact.validFrom, fact.validTo)],
          [
            'Confidence',
            `${percent(fact.confidence)}, ${fact.agentCount === 1 ? 'one agent' : `${fact.agentCount} agents`}`,
          ],
          [
            'Contradicted',
            fact.contradictionCount > 0 &&
              `by ${fact.contradictionCount === 1 ? 'one agent' : `${fact.contradictionCount} agents`}`,
          ],
          [
            'Superseded by',
            fact.supersededBy && <FactLink factId={fact.supersededBy.factId} object={fact.supersededBy.object} />,
          ],
          [
            'Replaced',
            replaced.length > 0 &&
              replaced.map(({ factId, object }) => <FactLink key={factId} factId={factId} object={object} />),
          ],
          [
            'Retracted',
            fact.retractedAt && (
              <>
                <Time at={fact.retractedAt} />: {fact.retractionReason || 'no reason given'}
              </>
            ),
          ],
          ['Recorded', <Time key="recorded" at={fact.recordedAt} />],
          ['Scope', <Scope key="scope" name={fact.scope} />],
          ['Project', fact.projectId],
        ]}
      />
      <h3>{fact.evidence.totalCount === 1 ? 'One statement' : `${fact.evidence.totalCount} statements`}</h3>
      <ul class="evidence">
        {evidence.map((one) => (
          <li key={one.evidenceId}>
            <p class="evidence-head">
              <strong>{one.agent}</strong>
              {one.isFromAdmin && <Chip tone="info">administrator</Chip>}
              {one.extractedBy && <Chip title="A chat model read it out of the memory">by {one.extractedBy}</Chip>}
              <span class="muted">{percent(one.confidence)}</span>
              <Time at={one.createdAt} />
            </p>
            {one.memory ? (
              <Link class="evidence-text" href={`/memories/${one.memory.packetId}`}>
                {one.memory.title ?? one.memory.content ?? 'The memory'}
              </Link>
            ) : (
              <span class="none">The memory can no longer be read.</span>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

const FactLink = ({ factId, object }: { factId: string; object: unknown }) => {
  const address = new URLSearchParams(location.search);
  address.set('fact', factId);
  return (
    <Link class="fact-link" href={`/facts?${address}`}>
      {objectText(object)}
    </Link>
  );
};

function Retract({ factId, onDone }: { factId: string; onDone: () => void }) {
  const retract = useAction(retractFact);
  const form = useForm({ reason: '' }, retract);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (await retract.run({ factId, ...form.values })) {
      toast('The fact was retracted');
      onDone();
    }
  };
  return (
    <form class="form" onSubmit={submit}>
      <TextField
        label="Why it is wrong"
        hint="It stays in the history with this reason; what it had superseded holds again."
        {...form.text('reason')}
      />
      {form.failure && <Failure error={form.failure} />}
      <div>
        <Button type="submit" look="danger" isBusy={retract.isBusy}>
          Retract the fact
        </Button>
      </div>
    </form>
  );
}
