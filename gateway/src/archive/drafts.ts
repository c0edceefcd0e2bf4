// Saves what a chat model drafted from a session, once that is archived. The database decides about each draft as about any other save.
import type { Logger } from 'pino';
import { isRefusal, sqlstateOf } from '../base/errors.ts';
import type { Draft } from '../extraction/session-reader.ts';
import type { Query } from './stores/index.ts';

/** The ids of those that were saved. It never throws: the session is archived already. */
export async function saveDrafts(
  query: Query,
  logger: Logger,
  sessionPacketId: string,
  drafts: readonly Draft[],
  model: string,
): Promise<string[]> {
  const saved: string[] = [];
  const refused: (string | undefined)[] = [];
  // Each in a transaction of its own, so that others get their turns in between, and one that is refused undoes no other.
  for (const { kind, text, reason } of drafts) {
    try {
      const values = [sessionPacketId, kind, text, reason ?? null, model];
      const [row] = await query<{ id: string | null }>(
        'select archive.save_session_draft($1, $2, $3, $4, $5) as id',
        values,
      );
      if (row?.id) saved.push(row.id);
    } catch (error) {
      refused.push(sqlstateOf(error));
      if (!isRefusal(error)) break;
    }
  }
  if (refused.length > 0) logger.info({ model, sqlstates: refused }, 'drafts of a chat model were not saved');
  return saved;
}
