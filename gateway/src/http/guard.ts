// Who may knock at a door at all. A browser sends what the page in it says: also a page that has only just made its own
// name stand for this machine. Whoever is no browser sends no Origin, and is not held up.
import type { Express, NextFunction, Request, Response } from 'express';
import { KnownError } from '../errors.ts';

const DOORS = ['/graphql', '/mcp', '/attach'];

interface GuardOptions {
  /** What the gateway listens on. */
  host: string;
  /** Names it is reached under, besides those of this machine; null: any, unless only this machine can reach it. */
  allowedHosts: readonly string[] | null;
}

export const isLoopback = (name: string) =>
  name === 'localhost' ||
  name.endsWith('.localhost') ||
  name === '[::1]' ||
  name === '::1' ||
  /^127(\.\d+){3}$/.test(name);

/** Name and port of `name:port`; null where it is none. */
function parse(origin: string): { name: string; authority: string; protocol: string } | null {
  if (!URL.canParse(origin)) return null;
  const { hostname, host, protocol } = new URL(origin);
  return { name: hostname.toLowerCase(), authority: host.toLowerCase(), protocol };
}

export function mountGuard(app: Express, { host, allowedHosts }: GuardOptions): void {
  const isAnyName = allowedHosts === null && !isLoopback(host);
  const isListed = (name: string) => allowedHosts?.includes(name) === true;

  app.use(DOORS, ({ headers, headersDistinct }: Request, _response: Response, next: NextFunction) => {
    const asked = /^[\w.:[\]-]+$/.test(headers.host ?? '') ? parse(`http://${headers.host}`) : null;
    if (!asked || !(isAnyName || isLoopback(asked.name) || isListed(asked.name))) {
      throw new KnownError(
        'L9SCP',
        'host: this gateway does not go by that name; ALLOWED_HOSTS names those it goes by',
      );
    }
    if (headers.origin !== undefined) {
      const from = parse(headers.origin);
      const isPage = !from || from.protocol === 'http:' || from.protocol === 'https:';
      const isOurs =
        from &&
        (from.authority === asked.authority ||
          isListed(from.name) ||
          (isLoopback(from.name) && isLoopback(asked.name)));
      if (isPage && !isOurs) {
        throw new KnownError(
          'L9SCP',
          'origin: not open to pages of other sites; ALLOWED_HOSTS names those it is open to',
        );
      }
    }
    // Which of two keys counts is not for whoever sends them, or for what is on the way, to guess.
    const keys = [...(headersDistinct.authorization ?? []), ...(headersDistinct['x-api-key'] ?? [])];
    if (new Set(keys.map((key) => key.replace(/^bearer +/i, '').trim())).size > 1) {
      throw new KnownError('L9AUT', 'more than one key or token: send one');
    }
    next();
  });
}
