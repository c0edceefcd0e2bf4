import { shortId } from '../lib/format.ts';
import { Button } from './button.tsx';
import { icons } from './icon.tsx';
import { toast } from './toast.tsx';

export const copyText = (text: string, what: string): Promise<void> =>
  navigator.clipboard.writeText(text).then(
    () => toast(`${what} copied`),
    () => toast('The browser did not allow copying.', true),
  );

/** The end of an id, and a button that copies the whole. */
export function Id({ id, what = 'Id' }: { id: string; what?: string }) {
  return (
    <span class="id">
      <code title={id}>{shortId(id)}</code>
      <Button
        look="quiet"
        icon={icons.copy}
        label={`Copy ${what.toLowerCase()}`}
        onClick={() => void copyText(id, what)}
      />
    </span>
  );
}
