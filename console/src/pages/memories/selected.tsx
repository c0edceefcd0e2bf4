// What can be done with the selected memories at once. Each is changed by itself, so that one that is refused does not stop the others.
import { useClient } from '@urql/preact';
import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { TextField } from '../../components/field.tsx';
import { toast } from '../../components/toast.tsx';
import { explain } from '../../lib/errors.ts';
import { present, useMe } from '../../lib/me.ts';
import { listOf } from '../../lib/typed.ts';
import { type Place, PlaceFields, useScopes } from '../../memory/place-fields.tsx';
import { deleteMutation, updateMutation } from '../../memory/query.ts';
import { exportRows } from './export.ts';
import type { Row } from './query.ts';

interface SelectedProps {
  rows: readonly Row[];
  onClear: () => void;
  onDone: () => void;
}

type Job = 'tag' | 'move' | 'delete';
const TITLES: Record<Job, string> = { tag: 'Add tags to', move: 'Move', delete: 'Delete' };

export function Selected({ rows, onClear, onDone }: SelectedProps) {
  const { isReadOnly } = useMe();
  const [job, setJob] = useState<Job | null>(null);
  return (
    <div class="selected" role="region" aria-label="Selected memories">
      <strong>{rows.length} selected</strong>
      {!isReadOnly && (
        <>
          <Button onClick={() => setJob('tag')}>Tag</Button>
          <Button onClick={() => setJob('move')}>Move</Button>
          <Button look="danger" onClick={() => setJob('delete')}>
            Delete
          </Button>
        </>
      )}
      <Button onClick={() => exportRows(rows)}>Export</Button>
      <Button look="quiet" onClick={onClear}>
        Clear
      </Button>
      {job && <JobDialog job={job} rows={rows} onClose={() => setJob(null)} onDone={onDone} />}
    </div>
  );
}

function JobDialog({
  job,
  rows,
  onClose,
  onDone,
}: {
  job: Job;
  rows: readonly Row[];
  onClose: () => void;
  onDone: () => void;
}) {
  const client = useClient();
  const { needsProject } = useScopes();
  const [tags, setTags] = useState('');
  const [place, setPlace] = useState<Place>({ scope: rows[0]!.scope, project: rows[0]!.projectId ?? '' });
  const [progress, setProgress] = useState<{ done: number; problems: readonly string[] } | null>(null);
  const isStopped = useRef(false);

  const changeOne = (row: Row) => {
    if (job === 'delete') return client.mutation(deleteMutation, { input: { packetId: row.packetId } }).toPromise();
    const added = listOf(tags) ?? [];
    const change =
      job === 'tag'
        ? { tags: [...new Set([...present(row.tags), ...added])] }
        : { scope: place.scope, ...(needsProject(place.scope) ? { projectId: place.project.trim() } : {}) };
    const input = { packetId: row.packetId, expectedVersion: row.updatedAt, ...change };
    return client.mutation(updateMutation, { input }).toPromise();
  };

  const run = async () => {
    const problems: string[] = [];
    setProgress({ done: 0, problems });
    for (const [index, row] of rows.entries()) {
      if (isStopped.current) break;
      const { error } = await changeOne(row);
      if (error) problems.push(`${(row.title ?? row.content ?? '').slice(0, 60)}: ${explain(error).text}`);
      setProgress({ done: index + 1, problems: [...problems] });
    }
    if (problems.length > 0) return;
    toast(
      `${rows.length} ${rows.length === 1 ? 'memory' : 'memories'} ${{ tag: 'tagged', move: 'moved', delete: 'deleted' }[job]}`,
    );
    onClose();
    onDone();
  };
  const close = () => {
    isStopped.current = true;
    onClose();
    if (progress) onDone();
  };

  const isRunning = progress !== null && progress.done < rows.length;
  const form: Record<Job, ComponentChildren> = {
    tag: (
      <TextField
        label="Tags"
        value={tags}
        onInput={setTags}
        hint="With spaces or commas between them. Tags that are there stay."
      />
    ),
    move: <PlaceFields place={place} onChange={setPlace} problemOf={() => null} />,
    delete: <p>Nobody finds them any more. The audit log keeps who deleted them and when.</p>,
  };
  return (
    <Dialog
      title={`${TITLES[job]} ${rows.length} ${rows.length === 1 ? 'memory' : 'memories'}`}
      onClose={close}
      actions={
        <>
          <Button onClick={close}>{isRunning ? 'Stop' : progress ? 'Close' : 'Cancel'}</Button>
          {!progress && (
            <Button
              look={job === 'delete' ? 'danger' : 'primary'}
              isDisabled={job === 'tag' && !tags.trim()}
              onClick={run}
            >
              {job === 'tag' ? 'Add' : TITLES[job]}
            </Button>
          )}
        </>
      }
    >
      {progress ? (
        <>
          <progress max={rows.length} value={progress.done} aria-label="Progress" />
          <p role="status">
            {progress.done} of {rows.length}
            {progress.problems.length > 0 && `, ${progress.problems.length} refused`}
          </p>
          <ul class="problems">
            {progress.problems.map((problem) => (
              <li key={problem}>{problem}</li>
            ))}
          </ul>
        </>
      ) : (
        form[job]
      )}
    </Dialog>
  );
}
