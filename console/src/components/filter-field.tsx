import { useEffect, useState } from 'preact/hooks';
import { TextField } from './field.tsx';

const PAUSE_MS = 500;

interface FilterFieldProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  /** Suggestions; others may be typed. */
  list?: readonly string[];
}

/** A typed filter. It narrows after a pause, when it is left, or by Enter, since each letter would be a query of its own. */
export function FilterField({ value, onChange, ...field }: FilterFieldProps) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (typed === value) return;
    const timer = setTimeout(() => onChange(typed), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed, value]);
  return <TextField {...field} value={typed} onInput={setTyped} onLeave={(left) => left !== value && onChange(left)} />;
}
