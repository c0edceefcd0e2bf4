import { useClient } from '@urql/preact';
import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { TextField } from '../../components/field.tsx';
import { fromLocalInput, toLocalInput } from '../../lib/format.ts';
import { startWork } from '../../lib/works.ts';
import { exportRows } from './export.ts';

/** Begins with the times of the filters. */
export function ExportDialog({ since, until, onClose }: { since: string; until: string; onClose: () => void }) {
  const client = useClient();
  const [from, setFrom] = useState(since);
  const [to, setTo] = useState(until);
  const begin = (event: Event) => {
    event.preventDefault();
    startWork(
      { name: 'export-audit', title: 'Exporting the audit log', path: '/audit', unit: 'rows' },
      (report, signal) => exportRows({ client, from: from || null, to: to || null, report, signal }),
    );
    onClose();
  };
  return (
    <Dialog title="Export the audit log" onClose={onClose}>
      <form class="form" onSubmit={begin}>
        <p>
          All rows that you may read, as JSON lines. The export itself is audited. You can leave the page meanwhile.
        </p>
        <div class="form-row">
          <TextField
            label="From"
            type="datetime-local"
            hint="Empty: from the beginning"
            value={toLocalInput(from)}
            onInput={(at) => setFrom(fromLocalInput(at))}
          />
          <TextField
            label="Until"
            type="datetime-local"
            hint="Empty: until now"
            value={toLocalInput(to)}
            onInput={(at) => setTo(fromLocalInput(at))}
          />
        </div>
        <div>
          <Button type="submit" look="primary">
            Export
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
