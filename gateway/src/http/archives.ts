// POST /archives/export and /archives/import: the encrypted bytes of archives, which `l9-memory export` and `import` carry. The operations
// behind them are no tools of MCP and no fields of GraphQL, because a key of an archive has no place before a model.
import type { Express, Request, Response } from 'express';
import type { Authentication } from '../auth/authentication.ts';
import type { RateLimits } from '../auth/rate-limits.ts';
import { errorExtensions } from '../base/errors.ts';
import type { ExecuteOperation } from '../operations/execute.ts';
import { exportArchive } from '../operations/export-archive.ts';
import { importArchive } from '../operations/import-archive.ts';
import { requireToolSet } from '../operations/operation.ts';
import { jsonBody } from './json-body.ts';

export interface ArchivesOptions {
  authentication: Authentication;
  rateLimits: RateLimits;
  execute: ExecuteOperation;
}

export function mountArchives(app: Express, { authentication, rateLimits, execute }: ArchivesOptions): void {
  for (const [path, operation, counted] of [
    ['/archives/export', exportArchive, 'reads'],
    ['/archives/import', importArchive, 'writes'],
  ] as const) {
    app.post(path, async (request, response, next) => {
      const identity = await authentication.identify(request);
      await rateLimits.countCalls(identity, counted);
      requireToolSet(identity.toolSets, operation);
      response.locals.identity = identity;
      next();
    });
    app.post(
      path,
      jsonBody(() => operation === importArchive),
      async (request: Request, response: Response) => {
        const { output, error } = await execute(operation, response.locals.identity, operation.name, request.body);
        response.set('cache-control', 'no-store');
        if (error?.retryAfterSeconds) response.set('Retry-After', String(error.retryAfterSeconds));
        if (!error) response.json(output);
        else
          response
            .status(error.httpStatus)
            .json({ errors: [{ message: error.message, extensions: errorExtensions(error) }] });
      },
    );
  }
}
