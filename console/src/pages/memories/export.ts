// Memories as JSON lines, with the names of save_memory, so that `l9-memory import` takes them.
import { download } from '../../lib/download.ts';
import type { Row } from './query.ts';

const withoutEmpty = (fields: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(fields).filter(
      ([, value]) => value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0),
    ),
  );

const lineOf = (row: Row) =>
  JSON.stringify(
    withoutEmpty({
      content: row.content,
      kind: row.kind,
      scope: row.scope,
      project_id: row.projectId,
      branch: row.branch,
      tags: row.tags,
      speaker: row.speaker,
      timestamp: row.timestamp,
      importance: row.estimatedImportance,
      envelope: Object.keys(row.envelope).length > 0 ? row.envelope : null,
    }),
  );

export const exportRows = (rows: readonly Row[]): void =>
  download('memories.jsonl', `${rows.map(lineOf).join('\n')}\n`, 'application/jsonl');
