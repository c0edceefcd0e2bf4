// Audits GraphQL requests: one READ row for the rows that a request read from tables and functions, one DENIED row for a request
// that was refused or failed. The operations (save, search …) and some functions write their own audit rows.

import type { Request as HttpRequest, Response } from 'express';
import type { Logger } from 'pino';
import { type DocumentNode, type FieldNode, GraphQLError, type GraphQLSchema } from 'postgraphile/graphql';
import type { Refusals } from '../../audit/refusals.ts';
import { challenge } from '../../auth/challenge.ts';
import { type Identity, toSettings } from '../../auth/identity.ts';
import { errorExtensions, errorKinds, isOutage, type PublicError, toPublicError } from '../../base/errors.ts';
import { currentRequestId } from '../../base/logger.ts';
import { createGroupedCalls } from '../../database/grouped-calls.ts';
import type { Database } from '../../database/index.ts';
import { noteRefusal } from '../../http/log-refusals.ts';
import type { ProtectedResource } from '../../http/protected-resource.ts';
import { camelCase } from '../../operations/graphql-types.ts';
import { operations } from '../../operations/index.ts';
import type { Answer, Edit, ShownError } from './answers.ts';
import { askedAt, fieldAt } from './arguments.ts';
import { sourcesOf } from './audited-sources.ts';
import { auditsItself, type Extension, extendDocument, type Request, rowsRead } from './rows-read.ts';
import { type Asked, addUp, askedIn } from './selections.ts';

export interface AuditOptions {
  database: Database;
  refusals: Pick<Refusals, 'record'>;
  oauth: Pick<ProtectedResource, 'metadataUrl'> | null;
  logger: Logger;
  /** Messages of errors in this request that are audited already: those of operations. */
  audited: WeakMap<Identity, Set<string>>;
}

/** A request that was understood. Its document was extended unless it audits itself. */
type Executed = Asked & { schema: GraphQLSchema; extension: Extension | null };

const operationFields = new Set(operations.map(({ name }) => camelCase(name)));

/** The answer to a request that was not served, with the HTTP status of its error. */
const unserved = (answer: Answer, { sqlstate = '', retryAfterSeconds }: Partial<PublicError>): Answer => ({
  ...answer,
  statusCode: errorKinds[sqlstate]!.httpStatus,
  headers: { ...answer.headers, ...(retryAfterSeconds && { 'Retry-After': String(retryAfterSeconds) }) },
});

export function createAudit({ database, refusals, oauth, logger, audited }: AuditOptions): {
  plugin: GraphileConfig.Plugin;
  recordAnswer: Edit;
  askedOf: (request: HttpRequest) => Executed | undefined;
} {
  const executed = new WeakMap<object, Executed>();
  const writeRead = createGroupedCalls(database.pool, 'audit.audit_graphql_read');
  // A document is extended once, because the plans of an operation are kept by its document.
  const extended = new WeakMap<DocumentNode, ReturnType<typeof extendDocument>>();

  async function recordRead(identity: Identity, request: Request, data: unknown) {
    const { counts, totals, ids, projectId, scope } = rowsRead(request, data, sourcesOf(request.schema));
    if (counts.size === 0) return;
    await writeRead({
      settings: { ...toSettings(identity, 'graphql'), synchronous_commit: 'off' },
      values: [
        request.operation.name?.value ?? null,
        JSON.stringify(Object.fromEntries(counts)),
        JSON.stringify(Object.fromEntries(totals)),
        JSON.stringify([...ids]),
        projectId,
        scope,
      ],
    });
  }

  /** The first error that is not of an operation. */
  function ownErrorOf(identity: Identity, errors: readonly ShownError[]) {
    const error = errors.find(({ message }) => !audited.get(identity)?.has(message));
    if (!error) return null;
    const { code = 'INVALID_INPUT', sqlstate = 'L9VAL', field = null }: Partial<PublicError> = error.extensions ?? {};
    return { code, sqlstate, field, httpStatus: errorKinds[sqlstate]?.httpStatus ?? 500, path: error.path };
  }

  /** Operations tell the log of their calls themselves. */
  function tellLog(
    identity: Identity,
    response: Response,
    asked: Executed | undefined,
    errors: readonly ShownError[] | undefined,
    durationMs: number,
  ) {
    if (errors) return noteRefusal(response, ownErrorOf(identity, errors));
    const { operation, fragments } = asked ?? {};
    const isOther = ({ name: { value } }: FieldNode) => (operationFields.has(value) || value.startsWith('__') ? 0 : 1);
    if (operation && addUp(operation.selectionSet, isOther, (name) => fragments?.get(name), false) > 0)
      logger.info(
        { request_id: currentRequestId(), api: 'graphql', duration_ms: Math.round(durationMs * 10) / 10 },
        'a request was answered',
      );
  }

  async function recordFailure(identity: Identity, request: Executed | undefined, errors: readonly ShownError[]) {
    const error = ownErrorOf(identity, errors);
    if (!error) return;
    const { code, sqlstate, field, path } = error;
    await refusals.record(
      identity,
      'graphql',
      {
        operation: 'DENIED',
        ...(request && path && askedAt(request, path)),
        details: {
          operation_name: request?.operation.name?.value.slice(0, 200) ?? null,
          path: (request && path && fieldAt(request, path)?.slice(0, 200)) ?? null,
        },
      },
      { code, sqlstate, field },
    );
  }

  const plugin: GraphileConfig.Plugin = {
    name: 'AuditPlugin',
    version: '1.0.0',
    grafast: {
      middleware: {
        execute(next, { args }) {
          const request = args.requestContext?.expressv4?.req;
          const { schema } = args;
          if (!request) return next();
          const { keys, queries } = sourcesOf(schema);
          const asked = askedIn(args);
          if (asked && auditsItself(asked.operation, queries)) {
            executed.set(request, { schema, ...asked, extension: null });
            return next();
          }
          const { document, extension } = extended.get(args.document) ?? extendDocument(schema, args.document, keys);
          extended.set(args.document, { document, extension });
          args.document = document;
          if (asked) executed.set(request, { schema, ...asked, extension });
          return next();
        },
      },
    },
  };

  const recordAnswer: Edit = async (answer, { request, response, identity, durationMs }) => {
    const asked = executed.get(request);
    const { data, errors } = answer.json;
    tellLog(identity, response, asked, errors, durationMs);
    const refusal = errors
      ?.map(({ extensions }): Partial<PublicError> | undefined => extensions)
      .find((extensions) => extensions?.retryAfterSeconds || isOutage(extensions?.sqlstate));
    try {
      // A database that is busy, away or full can't record that it is, and requests beyond a rate limit are recorded together.
      if (errors && !refusal) await recordFailure(identity, asked, errors);
      const extension = asked?.extension;
      if (extension && data) await recordRead(identity, { ...asked, extension, failed: failedPaths(errors) }, data);
    } catch (cause) {
      // An answer that cannot be audited is withheld.
      const error = toPublicError(cause, logger);
      noteRefusal(response, error);
      const refused = new GraphQLError(error.message, { extensions: errorExtensions(error) });
      const withheld = {
        statusCode: error.httpStatus,
        // Its key was valid when the request came.
        headers: {
          ...answer.headers,
          ...(error.httpStatus === 401 && challenge(1, error.message, oauth?.metadataUrl(request) ?? null)),
        },
        json: { errors: [refused.toJSON()] },
      };
      return error.retryAfterSeconds || isOutage(error.sqlstate) ? unserved(withheld, error) : withheld;
    }
    return refusal ? unserved(answer, refusal) : answer;
  };

  return { plugin, recordAnswer, askedOf: (request) => executed.get(request) };
}

/** The paths of fields that failed, and of all fields above them, which may be null for that reason. */
function failedPaths(errors: readonly ShownError[] = []): Set<string> {
  const paths = new Set<string>();
  for (const { path } of errors) {
    let here = '';
    for (const key of path ?? []) {
      if (typeof key === 'number') continue;
      here += `.${key}`;
      paths.add(here);
    }
  }
  return paths;
}
