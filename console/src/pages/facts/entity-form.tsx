import { useEffect, useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { TextField } from '../../components/field.tsx';

interface EntityFormProps {
  label: string;
  value: string;
  onShow: (name: string) => void;
}

/** Names one entity, by any of its names. */
export function EntityForm({ label, value, onShow }: EntityFormProps) {
  const [name, setName] = useState(value);
  useEffect(() => setName(value), [value]);
  const submit = (event: Event) => {
    event.preventDefault();
    if (name.trim()) onShow(name.trim());
  };
  return (
    <form class="entity-form" onSubmit={submit}>
      <TextField label={label} type="search" value={name} onInput={setName} placeholder="such as billing-api" />
      <Button type="submit" look="primary">
        Show
      </Button>
      {value && (
        <Button look="quiet" onClick={() => onShow('')}>
          Show all
        </Button>
      )}
    </form>
  );
}
