import type { RequestHandler } from 'express';
import type { Api } from '../metrics/index.ts';

/** Counts the requests to the APIs from their arrival until they are answered or given up by the client. */
export const countInFlight =
  (startRequest: (api: Api) => () => void): RequestHandler =>
  ({ method, path }, response, next) => {
    const [, api] = /^\/(graphql|mcp)\/?$/.exec(path) ?? [];
    if (method === 'POST' && api) response.once('close', startRequest(api as Api));
    next();
  };
