// A lane for each property, with its values one after another: what superseded what is seen at a glance.
import { placeOf, type Scale } from './moments.ts';
import type { Statement } from './query.ts';
import { objectText, stateOf, validity } from './state.ts';

interface LanesProps {
  statements: readonly Statement[];
  scale: Scale;
  at: number;
  onShow: (factId: string) => void;
}

export function Lanes({ statements, scale, at, onShow }: LanesProps) {
  const lanes = Map.groupBy(statements, ({ predicate }) => predicate);
  return (
    <dl class="lanes">
      {[...lanes].map(([predicate, facts]) => (
        <div key={predicate} class="lane">
          <dt>{predicate}</dt>
          <dd>
            {rowsOf(facts).map((row) => (
              <div key={row[0]!.factId} class="track">
                {row.map((fact) => (
                  <Bar key={fact.factId} fact={fact} scale={scale} onShow={onShow} />
                ))}
                <Cursor at={at} scale={scale} />
              </div>
            ))}
          </dd>
        </div>
      ))}
    </dl>
  );
}

const timeOf = (time: string) => new Date(time).getTime();
const endOf = ({ validTo }: Statement) => (validTo === null ? Number.POSITIVE_INFINITY : timeOf(validTo));

/** Facts that overlap stand in rows of their own; so do those that never held. */
function rowsOf(facts: readonly Statement[]): Statement[][] {
  const rows: Statement[][] = [];
  const inOrder = [...facts].sort((a, b) => timeOf(a.validFrom) - timeOf(b.validFrom));
  for (const fact of inOrder.filter(hasHeld)) {
    const row = rows.find((one) => endOf(one.at(-1)!) <= timeOf(fact.validFrom));
    if (row) row.push(fact);
    else rows.push([fact]);
  }
  return [...rows, ...inOrder.filter((fact) => !hasHeld(fact)).map((fact) => [fact])];
}

const hasHeld = ({ retractedAt, validFrom, validTo }: Statement) => !retractedAt && validFrom !== validTo;

/** So that a value that held for a short time can still be pointed at. */
const NARROWEST = 0.03;

function Bar({ fact, scale, onShow }: { fact: Statement; scale: Scale; onShow: (factId: string) => void }) {
  const { name, means } = stateOf(fact);
  const from = Math.min(placeOf(timeOf(fact.validFrom), scale), 1 - NARROWEST);
  const to = fact.validTo === null ? 1 : placeOf(timeOf(fact.validTo), scale);
  const width = hasHeld(fact) ? Math.max(to - from, NARROWEST) : Math.max(Math.min(0.22, 1 - from), NARROWEST);
  const text = objectText(fact.object);
  return (
    <button
      type="button"
      class={`bar ${name.replace(' ', '-')}`}
      style={{ left: `${from * 100}%`, width: `${width * 100}%` }}
      title={`${text}: ${validity(fact.validFrom, fact.validTo)}. ${means}.`}
      aria-label={`${fact.predicate} ${text}, ${name}, ${validity(fact.validFrom, fact.validTo)}: show evidence`}
      onClick={() => onShow(fact.factId)}
    >
      {text}
    </button>
  );
}

const Cursor = ({ at, scale }: { at: number; scale: Scale }) => (
  <span class="cursor" aria-hidden="true" style={{ left: `${placeOf(at, scale) * 100}%` }} />
);
