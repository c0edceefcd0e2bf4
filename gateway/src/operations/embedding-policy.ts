// Says which texts operations embed, and what they do when the embedding provider is slow, down or rejects a text.
import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { clientOf, type Identity, toSettings } from '../auth/identity.ts';
import { KnownError, sqlstateOf } from '../base/errors.ts';
import { type Database, readInOneTrip } from '../database/index.ts';
import { EmbeddingRejected, isKnown } from '../embeddings/index.ts';
import type { Models } from '../embeddings/models.ts';
import { SAVE_TIMEOUT_MS } from '../embeddings/scheduler.ts';
import type { Embedding } from './operation.ts';
import type { OwnSaves } from './own-saves.ts';

// Which words are common changes slowly.
const REMEMBER_WORDS_FOR_MS = 60_000;
const MAX_REMEMBERED_QUERIES = 2_000;

export type EmbeddingFor = (identity: Identity, toolName: string) => Embedding;

export function embeddingPolicy(models: Models, database: Database, ownSaves: OwnSaves, logger: Logger): EmbeddingFor {
  const words = new LRUCache<string, Promise<string>>({ max: MAX_REMEMBERED_QUERIES, ttl: REMEMBER_WORDS_FOR_MS });

  /** The text that the vector of a query is made of. It depends on what the caller can read, so each caller has its own. */
  function wordsForVector(identity: Identity, toolName: string, text: string, projectId: string | null) {
    const { sessionId: _, traceId: __, ...reader } = identity;
    const key = JSON.stringify([reader, projectId, text]);
    const known = words.get(key);
    if (known) return known;
    const asked = readInOneTrip(database, 'words for vector', toSettings(identity, toolName), async (client) => {
      const { rows } = await client.query<{ words: string }>('select search.words_for_vector($1, $2) as words', [
        text,
        projectId,
      ]);
      return rows[0]!.words;
    }).catch((error: unknown) => {
      // The search itself says what is wrong with the caller or its arguments.
      logger.debug({ sqlstate: sqlstateOf(error) }, 'could not look up the common words of a query');
      words.delete(key);
      return text;
    });
    words.set(key, asked);
    return asked;
  }

  return (identity, toolName) => ({
    async query(text, projectId) {
      try {
        // After a rest the database and the model start at the same time.
        models.warmUp();
        const [vector] = await Promise.all([
          wordsForVector(identity, toolName, text, projectId ?? null).then((words) =>
            models.embedQuery(words, clientOf(identity)),
          ),
          ownSaves.embedded(identity, toolName),
        ]);
        return vector;
      } catch (error) {
        logger.warn({ name: (error as Error).name }, 'could not embed a query');
        if (error instanceof EmbeddingRejected)
          throw new KnownError('L9VAL', 'query: rejected by the embedding provider', 'query');
        // A hybrid search becomes a lexical one, and its answer says so.
        return null;
      }
    },
    ownSaves: () => ownSaves.embedded(identity, toolName),
    async content(text) {
      const embedder = models.serving();
      if (!embedder) return null;
      const vectors = isKnown(embedder, text)
        .then((known) => (known ? embedder.embed([text], 'save', clientOf(identity)) : null))
        .catch(() => null);
      // A healthy provider needs less. If it takes longer, similar memories are compared by their words.
      const inTime = await Promise.race([vectors, sleep(SAVE_TIMEOUT_MS, null, { ref: false })]);
      return inTime ? { vector: inTime[0]!, model: embedder.model } : null;
    },
  });
}
