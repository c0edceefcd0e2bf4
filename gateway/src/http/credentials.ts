// The keys of credentials.json, which can be read again while the server runs.
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { rereadCredentials } from '../home/credentials.ts';

export function liveCredentials(config: Config, logger: Logger) {
  let credentials = rereadCredentials(config);
  return {
    current: () => credentials,
    /** Reads credentials.json again. If the file is invalid the keys stay as they were. */
    reload() {
      try {
        credentials = rereadCredentials(config);
      } catch (error) {
        logger.error({ reason: (error as Error).message }, 'credentials.json is invalid: the keys stay as they were');
        return;
      }
      const { jwtSecrets, mcpApiKeys } = credentials;
      logger.info(
        { kids: Object.keys(jwtSecrets), callers: Object.keys(mcpApiKeys) },
        'credentials.json was read again',
      );
    },
  };
}
