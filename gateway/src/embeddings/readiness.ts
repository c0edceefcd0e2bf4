// Whether the embedder answers, for those who ask often.
import type { Models } from './models.ts';

const ASKED_EVERY_MS = 15_000;

/** Asks the embedder of the serving model again after a while, or at once if it did not answer or another model serves. */
export function embedderReadiness({ servingModel, isReady }: Pick<Models, 'servingModel' | 'isReady'>) {
  let last = { at: 0, isReady: false, model: '' };
  return async (): Promise<boolean> => {
    const model = servingModel();
    if (Date.now() - last.at > ASKED_EVERY_MS || !last.isReady || last.model !== model) {
      // The check bypasses the cache, so that it reaches the provider.
      last = { at: Date.now(), isReady: await isReady(), model };
    }
    return last.isReady;
  };
}
