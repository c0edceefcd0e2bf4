import type { RequestHandler } from 'express';
import { currentRequestId } from '../base/logger.ts';
import { type Tracer, within } from '../base/tracing.ts';

/** What is traced: the APIs. Monitors ask all day, and a file of the console is no work. */
const ROUTES = /^\/(graphql|mcp|archives\/export|archives\/import)(?=\/?$)/;

/** A span for each request to the APIs, below the span that its header `traceparent` (W3C) names. */
export const traceRequests =
  (tracer: Tracer | null): RequestHandler =>
  ({ method, path, headers }, response, next) => {
    const [route] = ROUTES.exec(path) ?? [];
    if (!tracer || !route) return next();
    const { traceparent } = headers;
    const attributes = {
      'http.request.method': method,
      'http.route': route,
      'l9.request_id': currentRequestId(),
    };
    const span = tracer.start(
      { name: `${method} ${route}`, kind: 'server', attributes },
      typeof traceparent === 'string' ? traceparent : null,
    );
    response.once('close', () => {
      const { statusCode } = response;
      span.set({ 'http.response.status_code': statusCode });
      if (statusCode >= 500) span.fail(String(statusCode));
      span.end();
    });
    within(tracer, span, next);
  };
