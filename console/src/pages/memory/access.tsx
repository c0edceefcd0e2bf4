// Who may see a memory, and which policy of the database decides it.
import { useState } from 'preact/hooks';
import { Chip, Scope } from '../../components/chip.tsx';
import { Select } from '../../components/field.tsx';
import { Ready } from '../../components/states.tsx';
import { useAddress } from '../../lib/address.ts';
import { useData } from '../../lib/data.ts';
import type { ResultOf } from '../../lib/graphql.ts';
import { present, useMe } from '../../lib/me.ts';
import { useScopes } from '../../memory/place-fields.tsx';
import { accessQuery, callersQuery, type Memory } from './query.ts';

export function Access({ memory }: { memory: Memory }) {
  const { isAdmin } = useMe();
  const { describe } = useScopes();
  return (
    <div class="access">
      <p>
        Its scope decides: <Scope name={memory.scope} /> {describe(memory.scope)}
        {memory.projectId && (
          <>
            {' '}
            It belongs to the project <strong>{memory.projectId}</strong>.
          </>
        )}
      </p>
      {isAdmin ? (
        <SeeAs memory={memory} />
      ) : (
        <p class="hint">Administrators can ask here, for any caller, which policy lets it in or out.</p>
      )}
    </div>
  );
}

function SeeAs({ memory }: { memory: Memory }) {
  const me = useMe();
  const address = useAddress();
  const callers = present(useData(callersQuery, {}).data?.admin?.actors).filter(({ isActive }) => isActive);
  const [fallback] = useState(() => (me.isAdmin ? 'C' : me.caller!));
  const caller = address.get('as') || fallback;
  const answer = useData(accessQuery, { id: memory.packetId, caller, projects: null, scopes: null });
  const names = callers.map((one) => one.caller);
  return (
    <>
      <div class="see-as">
        <Select
          label="See as"
          value={caller}
          options={names.includes(caller) ? names : [caller, ...names]}
          onChange={(as) => address.set({ as }, { replace: true })}
        />
      </div>
      <Ready of={answer} rows={4}>
        {({ admin }) => admin?.explainAccess && <Verdict explained={admin.explainAccess} />}
      </Ready>
    </>
  );
}

type Explained = NonNullable<NonNullable<ResultOf<typeof accessQuery>['admin']>['explainAccess']>;

const REASONS: Readonly<Record<string, string>> = {
  identity: 'it has no identity: it is inactive, or its claims do not match',
  grant: 'its role can read no memory at all',
};

function Verdict({ explained: { caller, role, isVisible, decidedBy, policies } }: { explained: Explained }) {
  const list = present(policies).sort((a, b) => Number(b.policy === decidedBy) - Number(a.policy === decidedBy));
  return (
    <>
      <p class={`verdict ${isVisible ? 'in' : 'out'}`} role="status">
        <strong>
          {caller} {isVisible ? 'can' : 'cannot'} see it
        </strong>
        <span>
          {decidedBy &&
            (REASONS[decidedBy] ??
              (isVisible ? `the policy ${decidedBy} lets it in` : `the policy ${decidedBy} keeps it out`))}
        </span>
      </p>
      <ul class="policies" aria-label={`Policies for the role ${role}`}>
        {list.map(({ policy, isPermissive, admits, expression, description }) => (
          <li key={policy} class={policy === decidedBy ? 'decides' : ''}>
            <div class="policy-head">
              <Chip tone={admits ? 'good' : 'bad'}>{admits ? 'lets in' : 'keeps out'}</Chip>
              <code>{policy}</code>
              <span class="muted">{isPermissive ? 'one of these must let it in' : 'each of these must let it in'}</span>
              {policy === decidedBy && <Chip tone="info">decides</Chip>}
            </div>
            <p>{description}</p>
            <pre class="clause">{expression}</pre>
          </li>
        ))}
      </ul>
    </>
  );
}
