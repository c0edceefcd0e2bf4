// Changes answers on their way out: one list of edits, each of which gets the answer of the one before.
import type { Request, Response } from 'express';
import type { Identity } from '../../auth/identity.ts';
import { isObject } from '../../operations/read-input.ts';

/** An error as it is sent. */
export interface ShownError {
  message: string;
  path?: readonly (string | number)[];
  locations?: readonly { line: number; column: number }[];
  extensions?: Record<string, unknown>;
}

export interface Answer {
  statusCode: number;
  headers: Record<string, string>;
  json: { data?: unknown; errors?: readonly ShownError[]; extensions?: object };
}

/** The request that is answered. */
export interface Answered {
  request: Request;
  response: Response;
  identity: Identity;
  /** How long it took so far. */
  durationMs: number;
}

/** The type of grafserv is any JSON. What it sends as an object is the answer to a document. */
const isAnswer = (json: unknown): json is Answer['json'] => isObject(json);

/** Returns the answer to send instead. */
export type Edit = (answer: Answer, answered: Answered) => Answer | Promise<Answer>;

export const createAnswersPlugin = (edits: readonly Edit[]): GraphileConfig.Plugin => ({
  name: 'AnswersPlugin',
  version: '1.0.0',
  grafserv: {
    middleware: {
      async processRequest(next, { requestDigest }) {
        const { req: request, res: response } = requestDigest.requestContext.expressv4 ?? {};
        const identity: Identity | undefined = response?.locals.identity;
        if (!request || !response || !identity) return next();
        // Without this the answer would be text instead of an object.
        requestDigest.preferJSON = true;
        const began = performance.now();
        const result = await next();
        if (result?.type !== 'json' || !isAnswer(result.json)) return result;
        const answered = { request, response, identity, durationMs: performance.now() - began };
        let answer: Answer = { ...result, json: result.json };
        for (const edit of edits) answer = await edit(answer, answered);
        return Object.assign(result, answer);
      },
    },
  },
});
