// How fast memories of a kind count as old: the days after which what newness adds is one half.
import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { TextField } from '../../components/field.tsx';

interface HalfLivesProps {
  days: Readonly<Record<string, number>>;
  /** Kinds that are suggested for another half-life. */
  kinds: readonly string[];
  isDisabled: boolean;
  problem: string | null;
  onChange: (days: Readonly<Record<string, number>>) => void;
}

export function HalfLives({ days, kinds, isDisabled, problem, onChange }: HalfLivesProps) {
  const [kind, setKind] = useState('');
  const name = kind.trim();
  const listed = Object.entries(days).sort(
    ([a], [b]) => Number(b === 'default') - Number(a === 'default') || a.localeCompare(b),
  );
  const add = () => {
    if (name && !(name in days)) onChange({ ...days, [name]: days.default! });
    setKind('');
  };
  return (
    <fieldset class="kind-field" aria-describedby={problem ? 'half-lives-problem' : undefined}>
      <legend>Half-lives: after how many days newness counts half</legend>
      <div class="half-lives">
        {listed.map(([one, value]) => (
          <TextField
            key={one}
            label={one === 'default' ? 'all other kinds' : one}
            name="halfLifeDays"
            type="number"
            unit="days"
            min={0.01}
            max={36500}
            step="any"
            value={Number.isNaN(value) ? '' : String(value)}
            problem={isDay(value) ? null : 'From 0.01 to 36500 days.'}
            isDisabled={isDisabled}
            onInput={(text) => onChange({ ...days, [one]: text === '' ? Number.NaN : Number(text) })}
          />
        ))}
      </div>
      {problem && (
        <p id="half-lives-problem" class="problem-text" role="alert">
          {problem}
        </p>
      )}
      {!isDisabled && (
        <div class="try">
          <TextField
            label="Half-life of another kind"
            value={kind}
            list={kinds.filter((one) => !(one in days))}
            onInput={setKind}
          />
          <Button isDisabled={!name} onClick={add}>
            Add
          </Button>
        </div>
      )}
    </fieldset>
  );
}

export const isDay = (value: number): boolean => value >= 0.01 && value <= 36_500;
