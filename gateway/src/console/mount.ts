// Serves the page for people at /console: the static bundle that `npm run build` makes of console/. The page has no right of its own;
// what it shows comes from /graphql, with the key or token of the person.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import express, { type Express, type Response } from 'express';
import { packageRoot } from '../base/paths.ts';
import { isLoopback } from '../http/guard.ts';
import { mountSignIn, type SignInOptions } from './sign-in.ts';

const BUNDLE = join(packageRoot, 'dist', 'console');

const POLICY = [
  "default-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "object-src 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const NOT_BUILT = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>l9-memory console</title>
<h1>The console is not built</h1>
<p>Run <code>npm run build</code> in the folder of l9-memory, and load this page again.</p>
</html>
`;

/** Whether this server has a console: one that only this machine reaches has, another one if CONSOLE=on. */
export const hasConsole = ({ console, host }: { console: boolean | null; host: string }) => console ?? isLoopback(host);

export function mountConsole(app: Express, options: SignInOptions, bundle = BUNDLE): void {
  mountSignIn(app, options);

  app.use('/console', (_request, response, next) => {
    response.set({
      'Content-Security-Policy': POLICY,
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
      'Cross-Origin-Opener-Policy': 'same-origin',
    });
    next();
  });
  // Their names carry a hash of their contents.
  app.use(
    '/console/assets',
    express.static(join(bundle, 'assets'), { immutable: true, maxAge: '1y', index: false, redirect: false }),
  );

  app.get(['/console', '/console/{*page}'], (request, response, next) => {
    response.vary('Accept');
    const isAsset = request.path.startsWith('/console/assets/');
    if (isAsset || request.accepts(['json', 'html']) !== 'html') return next();
    sendPage(response, join(bundle, 'index.html'));
  });
}

function sendPage(response: Response, page: string): void {
  response.set('Cache-Control', 'no-store');
  if (!existsSync(page)) {
    response.status(503).type('html').send(NOT_BUILT);
    return;
  }
  response.sendFile(page, { cacheControl: false, etag: false, lastModified: false });
}
