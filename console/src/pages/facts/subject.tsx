// One subject: its facts as of a date, beside all that was ever stated of it.
import { useMemo } from 'preact/hooks';
import { Check } from '../../components/check.tsx';
import { Empty, Ready } from '../../components/states.tsx';
import { useAddress } from '../../lib/address.ts';
import { useData } from '../../lib/data.ts';
import { present } from '../../lib/me.ts';
import { DateSlider } from './date-slider.tsx';
import { HeldFacts } from './held-facts.tsx';
import { History } from './history.tsx';
import { Lanes } from './lanes.tsx';
import { momentAt, scaleOf } from './moments.ts';
import { MAX_FACTS, type Statement, subjectHistory } from './query.ts';

export function Subject({ subject }: { subject: string }) {
  const history = useData(subjectHistory, { subject });
  return (
    <Ready of={history}>
      {({ findFacts }) => {
        const statements = present(findFacts);
        return statements.length === 0 ? (
          <Empty title={`Nothing is stated of ${subject}`}>
            Among the memories that you may read. Try another name, or look at the graph around it.
          </Empty>
        ) : (
          <AsOf subject={subject} statements={statements} />
        );
      }}
    </Ready>
  );
}

function AsOf({ subject, statements }: { subject: string; statements: readonly Statement[] }) {
  const address = useAddress();
  // The end of the scale stays where it was while the page is shown.
  const scale = useMemo(
    () =>
      scaleOf(
        statements.filter(({ retractedAt }) => !retractedAt),
        Date.now(),
      ),
    [statements],
  );
  const chosen = new Date(address.get('at')).getTime();
  const at = Number.isNaN(chosen) ? null : momentAt(chosen, scale);
  const isKnownThen = address.get('known') === 'then';
  const show = (fact: string) => address.set({ fact });
  return (
    <>
      <section class="as-of panel" aria-label="Facts over time">
        <DateSlider
          scale={scale}
          at={at}
          onChange={(time) =>
            address.set({ at: time === null ? null : new Date(time).toISOString() }, { replace: true })
          }
        />
        <Lanes statements={statements} scale={scale} at={at ?? scale.end} onShow={show} />
        <Check
          label="As it was known on that date, without what was recorded or retracted later"
          isOn={isKnownThen}
          onChange={(isOn) => address.set({ known: isOn ? 'then' : null }, { replace: true })}
        />
      </section>
      <HeldFacts subject={subject} at={at} isShort={scale.step < 86_400_000} isKnownThen={isKnownThen} onShow={show} />
      <History statements={statements} onShow={show} />
      {statements.length >= MAX_FACTS && <p class="muted">The first {MAX_FACTS} statements are shown.</p>}
    </>
  );
}
