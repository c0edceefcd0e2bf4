import { useEffect, useState } from 'preact/hooks';
import { TextField } from './field.tsx';

interface FilterFieldProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  /** Suggestions; others may be typed. */
  list?: readonly string[];
}

/** A typed filter. It narrows when it is left, or by Enter, since each letter would be a query of its own. */
export function FilterField({ value, onChange, ...field }: FilterFieldProps) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  return <TextField {...field} value={typed} onInput={setTyped} onLeave={(left) => left !== value && onChange(left)} />;
}
