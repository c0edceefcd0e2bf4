// The settings of one ranking, tried on a query before they are kept: what is found now stands beside what would be found.
import { type Client, type TypedDocumentNode, useClient } from '@urql/preact';
import { useId, useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { TextField } from '../../components/field.tsx';
import { useForm } from '../../components/form.tsx';
import { Failure } from '../../components/states.tsx';
import { toast } from '../../components/toast.tsx';
import { useAction } from '../../lib/data.ts';
import { explain } from '../../lib/errors.ts';
import { formatNumber } from '../../lib/format.ts';
import { useMe } from '../../lib/me.ts';
import { listOf } from '../../lib/typed.ts';
import { Compared, type Hit, type Tried } from './compared.tsx';
import { HalfLives, isDay } from './half-lives.tsx';
import { changesOf, type Settings, tried as toTry, type Weight as WeightOf } from './weights.ts';

interface DeskProps {
  weights: readonly WeightOf[];
  kept: Settings;
  kinds: readonly string[];
  /** Sets what is given. */
  // biome-ignore lint/suspicious/noExplicitAny: each ranking has settings of its own
  mutation: TypedDocumentNode<any, any>;
  /** What a query finds with these weights. */
  preview: (client: Client, query: string, weights: Record<string, unknown>) => Promise<readonly Hit[]>;
  onKept: () => void;
}

const camel = (field: string) => field.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

export function Desk({ weights, kept, kinds, mutation, preview, onKept }: DeskProps) {
  const isReadOnly = useMe().isReadOnly === true;
  const client = useClient();
  const keeping = useAction(mutation);
  const [isTrying, setTrying] = useState(false);
  const [tried, setTried] = useState<Tried | null>(null);
  const form = useForm({ ...kept, typedLanguages: kept.languages?.join(', ') ?? '', query: '' }, keeping);
  const { query, typedLanguages, ...values } = form.values;
  const draft: Settings = kept.languages ? { ...values, languages: listOf(typedLanguages) ?? [] } : values;
  const changes = changesOf(draft, kept);
  const isChanged = Object.keys(changes).length > 0;
  const isValid = Object.values(draft.halfLifeDays).every(isDay);

  const compare = async () => {
    setTrying(true);
    form.refuse(null);
    try {
      const before = await preview(client, query, {});
      const other = toTry(changes);
      setTried({ query, before, after: Object.keys(other).length > 0 ? await preview(client, query, other) : before });
    } catch (error) {
      const { field, text } = explain(error as Parameters<typeof explain>[0]);
      const named = camel(field ?? '');
      const isShown = named === 'halfLifeDays' || named in draft.weights;
      form.refuse({ field: isShown ? named : 'query', text });
    }
    setTrying(false);
  };
  const keep = async () => {
    form.refuse(null);
    if (!(await keeping.run(changes))) return;
    toast('These weights hold from the next search on');
    onKept();
  };
  const language = form.text('typedLanguages');
  return (
    <div class="stack">
      <div class="weights">
        {weights.map(({ name, ...shown }) => (
          <Weight
            key={name}
            {...shown}
            value={draft.weights[name]!}
            kept={kept.weights[name]!}
            problem={form.problemOf(name)}
            isDisabled={isReadOnly}
            onInput={(value) => form.set({ weights: { ...draft.weights, [name]: value } })}
          />
        ))}
      </div>
      <HalfLives
        days={draft.halfLifeDays}
        kinds={kinds}
        isDisabled={isReadOnly}
        problem={form.problemOf('halfLifeDays')}
        onChange={(halfLifeDays) => form.set({ halfLifeDays })}
      />
      {kept.languages && (
        <TextField
          label="Languages"
          hint="Of what is saved, such as english, german; at most five. A text that shows none of them gets the first. A comparison leaves them out."
          isDisabled={isReadOnly}
          {...language}
          problem={form.problemOf('languages')}
        />
      )}
      {!isReadOnly && (
        <form
          class="try"
          onSubmit={(event) => {
            event.preventDefault();
            if (query.trim() && isValid) void compare();
          }}
        >
          <TextField
            label="Try it on a query"
            type="search"
            placeholder="where are deploys described"
            {...form.text('query')}
          />
          <Button type="submit" isBusy={isTrying} isDisabled={!query.trim() || !isValid}>
            Compare
          </Button>
          <Button look="primary" isBusy={form.isBusy} isDisabled={!isChanged || !isValid} onClick={() => void keep()}>
            Keep
          </Button>
          <Button
            isDisabled={!isChanged || form.isBusy}
            onClick={() => form.set({ ...kept, typedLanguages: kept.languages?.join(', ') ?? '' })}
          >
            Undo
          </Button>
        </form>
      )}
      {form.failure && <Failure error={form.failure} />}
      {tried && <Compared tried={tried} />}
    </div>
  );
}

interface WeightProps extends Omit<WeightOf, 'name' | 'byDefault'> {
  value: number;
  kept: number;
  problem: string | null;
  isDisabled: boolean;
  onInput: (value: number) => void;
}

function Weight({ title, about, max, value, kept, problem, isDisabled, onInput }: WeightProps) {
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
        aria-invalid={Boolean(problem)}
        min={0}
        max={max}
        step={max / 20}
        value={value}
        disabled={isDisabled}
        onInput={(event) => onInput(Number(event.currentTarget.value))}
      />
      <p id={`${id}-about`} class={problem ? 'problem-text' : 'muted'}>
        {problem ?? about}
      </p>
    </div>
  );
}
