// Audits GraphQL requests: one READ row for the rows that a request read from tables, one DENIED row for a request that
// was refused or failed. The operations (save, search …) write their own audit rows.

import type { Logger } from 'pino';
import { type FragmentDefinitionNode, GraphQLError, type GraphQLObjectType, Kind } from 'postgraphile/graphql';
import { recordRefusal } from '../../audit/refusals.ts';
import { type Identity, toSettings } from '../../auth/identity.ts';
import type { Database } from '../../database/index.ts';
import { callInTransaction } from '../../database/transaction.ts';
import { errorExtensions, type PublicError, toPublicError } from '../../errors.ts';
import { type Request, rowsRead } from './rows-read.ts';

interface Payload {
  data?: unknown;
  errors?: readonly GraphQLError[];
}

export interface AuditOptions {
  database: Database;
  logger: Logger;
  /** Messages of errors in this request that are audited already: those of operations. */
  audited: WeakMap<Identity, Set<string>>;
}

const MAX_IDS = 1_000;

export function auditPlugin({ database, logger, audited }: AuditOptions): GraphileConfig.Plugin {
  /** The tables by the types that stand for their rows. */
  const tables = new Map<string, string>();
  const executed = new WeakMap<object, Request>();

  async function recordRead(identity: Identity, request: Request, data: unknown) {
    const isRow = (type: GraphQLObjectType) => tables.has(type.name);
    const { counts, totals, memoryIds } = rowsRead(request, data, isRow);
    if (counts.size === 0) return;
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
      ],
    );
  }

  async function recordFailure(identity: Identity, request: Request | undefined, errors: readonly GraphQLError[]) {
    const error = errors.find(({ message }) => !audited.get(identity)?.has(message));
    if (!error) return;
    const { code = 'INVALID_INPUT', sqlstate = 'L9VAL', field = null } = error.extensions as Partial<PublicError>;
    await recordRefusal(
      database,
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
            if (schema.getType(type)) tables.set(type, table);
          }
          return schema;
        },
      },
    },
    grafast: {
      middleware: {
        execute(next, { args }) {
          const request = args.requestContext?.expressv4?.req;
          const operations = args.document.definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION);
          const operation = args.operationName
            ? operations.find(({ name }) => name?.value === args.operationName)
            : operations[0];
          if (request && operation) {
            const fragments = new Map<string, FragmentDefinitionNode>();
            for (const node of args.document.definitions) {
              if (node.kind === Kind.FRAGMENT_DEFINITION) fragments.set(node.name.value, node);
            }
            executed.set(request, {
              schema: args.schema,
              operation,
              fragments,
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
          try {
            if (payload.errors) await recordFailure(identity, asked, payload.errors);
            if (asked && payload.data) await recordRead(identity, asked, payload.data);
          } catch (cause) {
            // An answer that cannot be audited is withheld.
            const error = toPublicError(cause, logger);
            const refused = new GraphQLError(error.message, { extensions: errorExtensions(error) });
            return { ...result, statusCode: error.httpStatus, json: { errors: [refused.toJSON()] } as never };
          }
          return result;
        },
      },
    },
  };
}
