// Weights of searches, tried on a query before they are kept: the hits of the present weights stand beside those of the changed ones.
import { useClient } from '@urql/preact';
import { useId, useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { TextField } from '../../components/field.tsx';
import { Ready } from '../../components/states.tsx';
import { toast } from '../../components/toast.tsx';
import { useData } from '../../lib/data.ts';
import { explain } from '../../lib/errors.ts';
import { formatNumber } from '../../lib/format.ts';
import { useMe } from '../../lib/me.ts';
import { Compared, type Tried } from './compared.tsx';
import { previewQuery, setWeights, weightsQuery } from './query.ts';
import { Section } from './section.tsx';
import { changedWeights, DEFAULTS, NAMES, WEIGHTS, type Weights } from './weights.ts';

export function Ranking() {
  const weights = useData(weightsQuery, {});
  return (
    <Section
      title="Ranking"
      about="How searches of this tenant weigh what they find. Try a change on a query: both answers are shown, and nothing is changed until you keep it."
    >
      <Ready of={weights}>
        {({ admin }) => {
          const kept = { ...DEFAULTS, ...pick(admin?.searchSettings?.[0]) };
          return <Desk key={JSON.stringify(kept)} kept={kept} onKept={weights.refresh} />;
        }}
      </Ready>
    </Section>
  );
}

const pick = (row: object | undefined): Partial<Weights> =>
  row ? (Object.fromEntries(NAMES.map((name) => [name, (row as Weights)[name]])) as unknown as Weights) : {};

function Desk({ kept, onKept }: { kept: Weights; onKept: () => void }) {
  const { isReadOnly } = useMe();
  const client = useClient();
  const [draft, setDraft] = useState(kept);
  const [query, setQuery] = useState('');
  const [tried, setTried] = useState<Tried | null>(null);
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const isChanged = NAMES.some((name) => draft[name] !== kept[name]);

  const search = async (weights: Record<string, number>) => {
    const { data, error } = await client
      .query(previewQuery, { query, weights }, { requestPolicy: 'network-only' })
      .toPromise();
    if (error) throw error;
    return data?.previewSearch?.hits ?? [];
  };
  const run = async (work: () => Promise<void>) => {
    setBusy(true);
    setProblem('');
    await work().catch((error) => setProblem(explain(error).text));
    setBusy(false);
  };
  const tryOut = () =>
    run(async () => {
      const before = await search({});
      const after = isChanged ? await search(changedWeights(draft, kept)) : before;
      setTried({ query, before, after });
    });
  const keep = () =>
    run(async () => {
      const { error } = await client.mutation(setWeights, draft).toPromise();
      if (error) throw error;
      toast('These weights hold from the next search on');
      onKept();
    });

  return (
    <div class="stack">
      <div class="weights">
        {WEIGHTS.map(({ name, title, about, max }) => (
          <Weight
            key={name}
            {...{ title, about, max }}
            value={draft[name]}
            kept={kept[name]}
            isDisabled={isReadOnly === true}
            onInput={(value) => setDraft({ ...draft, [name]: value })}
          />
        ))}
      </div>
      {!isReadOnly && (
        <form
          class="try"
          onSubmit={(event) => {
            event.preventDefault();
            if (query.trim()) void tryOut();
          }}
        >
          <TextField
            label="Try it on a query"
            type="search"
            value={query}
            onInput={setQuery}
            placeholder="where are deploys described"
          />
          <Button type="submit" isBusy={isBusy} isDisabled={!query.trim()}>
            Compare
          </Button>
          <Button look="primary" isDisabled={!isChanged || isBusy} onClick={() => void keep()}>
            Keep
          </Button>
          <Button isDisabled={!isChanged || isBusy} onClick={() => setDraft(kept)}>
            Undo
          </Button>
        </form>
      )}
      {problem && (
        <p class="problem-text" role="alert">
          {problem}
        </p>
      )}
      {tried && <Compared tried={tried} />}
    </div>
  );
}

interface WeightProps {
  title: string;
  about: string;
  max: number;
  value: number;
  kept: number;
  isDisabled: boolean;
  onInput: (value: number) => void;
}

function Weight({ title, about, max, value, kept, isDisabled, onInput }: WeightProps) {
  const id = useId();
  return (
    <div class="weight">
      <p class="weight-name">
        <label for={id}>{title}</label> <output for={id}>{formatNumber(value)}</output>
        {value !== kept && <span class="muted"> was {formatNumber(kept)}</span>}
      </p>
      <input
        id={id}
        type="range"
        aria-describedby={`${id}-about`}
        min={0}
        max={max}
        step={max / 20}
        value={value}
        disabled={isDisabled}
        onInput={(event) => onInput(Number(event.currentTarget.value))}
      />
      <p id={`${id}-about`} class="muted">
        {about}
      </p>
    </div>
  );
}
