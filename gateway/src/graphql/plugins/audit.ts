// Audits GraphQL requests: one READ row for the rows that a request read from tables, one DENIED row for a request that
// was refused or failed. The operations (save, search …) write their own audit rows.

import type { Logger } from 'pino';
import { type DocumentNode, GraphQLError, type GraphQLObjectType, Kind } from 'postgraphile/graphql';
import type { Refusals } from '../../audit/refusals.ts';
import { type Identity, toSettings } from '../../auth/identity.ts';
import type { Database } from '../../database/index.ts';
import { callInTransaction } from '../../database/transaction.ts';
import { errorExtensions, errorKinds, isOutage, type PublicError, toPublicError } from '../../errors.ts';
import { kindViews } from './kind-views.ts';
import { extendDocument, type Request, rowsRead } from './rows-read.ts';
import { fragmentsOf } from './selections.ts';

interface Payload {
  data?: unknown;
  errors?: readonly GraphQLError[];
}

export interface AuditOptions {
  database: Database;
  refusals: Pick<Refusals, 'record'>;
  logger: Logger;
  /** Messages of errors in this request that are audited already: those of operations. */
  audited: WeakMap<Identity, Set<string>>;
}

const MAX_IDS = 1_000;

/** The answer to a request that was not served, with the HTTP status of its error. */
const unserved = <Answer extends { headers?: Record<string, string> }>(
  answer: Answer,
  { sqlstate = '', retryAfterSeconds }: Partial<PublicError>,
) => ({
  ...answer,
  statusCode: errorKinds[sqlstate]!.httpStatus,
  headers: { ...answer.headers, ...(retryAfterSeconds && { 'Retry-After': String(retryAfterSeconds) }) },
});

export function auditPlugin({ database, refusals, logger, audited }: AuditOptions): GraphileConfig.Plugin {
  /** The tables by the types that stand for their rows. */
  const tables = new Map<string, string>();
  /** Those whose rows are memories. */
  const memoryTypes = new Set<string>();
  const executed = new WeakMap<object, Omit<Request, 'failed'>>();
  // A document is extended once, because the plans of an operation are kept by its document.
  const extended = new WeakMap<DocumentNode, ReturnType<typeof extendDocument>>();

  async function recordRead(identity: Identity, request: Request, data: unknown) {
    const isRow = (type: GraphQLObjectType) => tables.has(type.name);
    const { counts, totals, memoryIds, projects, scopes } = rowsRead(request, data, isRow);
    if (counts.size === 0) return;
    const only = (values: Set<string | null>) => (values.size === 1 ? [...values][0]! : null);
    const named = (entries: Map<string, number>) =>
      JSON.stringify(Object.fromEntries([...entries].map(([type, n]) => [tables.get(type) ?? type, n])));
    await callInTransaction(
      database.pool,
      { ...toSettings(identity, 'graphql'), synchronous_commit: 'off' },
      'audit.audit_graphql_read',
      [
        request.operation.name?.value ?? null,
        named(counts),
        named(totals),
        `{${[...memoryIds].slice(0, MAX_IDS).join(',')}}`,
        only(projects),
        only(scopes),
      ],
    );
  }

  async function recordFailure(
    identity: Identity,
    request: Omit<Request, 'failed'> | undefined,
    errors: readonly GraphQLError[],
  ) {
    const error = errors.find(({ message }) => !audited.get(identity)?.has(message));
    if (!error) return;
    const { code = 'INVALID_INPUT', sqlstate = 'L9VAL', field = null } = error.extensions as Partial<PublicError>;
    await refusals.record(
      identity,
      'graphql',
      {
        operation: 'DENIED',
        details: {
          operation_name: request?.operation.name?.value.slice(0, 200) ?? null,
          path: error.path?.[0] ?? null,
        },
      },
      { code, sqlstate, field },
    );
  }

  return {
    name: 'AuditPlugin',
    version: '1.0.0',
    schema: {
      hooks: {
        finalize(schema, build) {
          for (const resource of Object.values(build.pgResources)) {
            const { codec } = resource;
            const table = codec.extensions?.pg?.name;
            if (!codec.attributes || resource.parameters || resource.isVirtual || !table) continue;
            const type = build.inflection.tableType(codec);
            if (!schema.getType(type)) continue;
            tables.set(type, table);
            if (table === 'packet_store' || kindViews.has(table)) memoryTypes.add(type);
          }
          return schema;
        },
      },
    },
    grafast: {
      middleware: {
        execute(next, { args }) {
          const request = args.requestContext?.expressv4?.req;
          const { schema } = args;
          if (!request) return next();
          const { document, extension } =
            extended.get(args.document) ?? extendDocument(schema, args.document, memoryTypes);
          extended.set(args.document, { document, extension });
          args.document = document;
          const operations = args.document.definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION);
          const operation = args.operationName
            ? operations.find(({ name }) => name?.value === args.operationName)
            : operations[0];
          if (operation) {
            executed.set(request, {
              schema,
              operation,
              fragments: fragmentsOf(args.document),
              extension,
              variables: args.variableValues ?? {},
            });
          }
          return next();
        },
      },
    },
    grafserv: {
      middleware: {
        async processRequest(next, event) {
          const { requestDigest } = event;
          const request = requestDigest.requestContext.expressv4?.req;
          const identity = requestDigest.requestContext.expressv4?.res.locals.identity as Identity | undefined;
          if (!request || !identity) return next();
          // Without this the answer would be text instead of an object.
          requestDigest.preferJSON = true;
          const result = await next();
          if (result?.type !== 'json') return result;

          const asked = executed.get(request);
          const payload = result.json as Payload;
          const refusal = payload.errors
            ?.map(({ extensions }) => extensions as Partial<PublicError> | undefined)
            .find((extensions) => extensions?.retryAfterSeconds || isOutage(extensions?.sqlstate));
          try {
            // A database that is busy, away or full can't record that it is, and requests beyond a rate limit are recorded together.
            if (payload.errors && !refusal) await recordFailure(identity, asked, payload.errors);
            if (asked && payload.data)
              await recordRead(identity, { ...asked, failed: failedPaths(payload.errors) }, payload.data);
          } catch (cause) {
            // An answer that cannot be audited is withheld.
            const error = toPublicError(cause, logger);
            const refused = new GraphQLError(error.message, { extensions: errorExtensions(error) });
            const withheld = { ...result, statusCode: error.httpStatus, json: { errors: [refused.toJSON()] } as never };
            return error.retryAfterSeconds || isOutage(error.sqlstate) ? unserved(withheld, error) : withheld;
          }
          return refusal ? unserved(result, refusal) : result;
        },
      },
    },
  };
}

/** The paths of fields that failed, and of all fields above them, which may be null for that reason. */
function failedPaths(errors: readonly GraphQLError[] = []): Set<string> {
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
