// Says in the answer to a request what its operations took from the working copy of the client, as the results of MCP do:
// extensions.inferred has projectId and branch under the name of each field.
import type { Identity } from '../../auth/identity.ts';
import type { Inferred } from '../../operations/inferred-project.ts';

export interface InferredPlugin {
  plugin: GraphileConfig.Plugin;
  onInferred(identity: Identity, field: string, inferred: Inferred): void;
}

export function createInferredPlugin(): InferredPlugin {
  // Each request has an identity of its own.
  const byRequest = new WeakMap<Identity, Record<string, object>>();
  return {
    onInferred(identity, field, { project_id, branch }) {
      const fields = byRequest.get(identity) ?? {};
      // One field may stand in a request several times, with arguments of its own each time.
      fields[field] = { ...fields[field], ...(project_id && { projectId: project_id }), ...(branch && { branch }) };
      byRequest.set(identity, fields);
    },
    plugin: {
      name: 'InferredPlugin',
      version: '1.0.0',
      grafserv: {
        middleware: {
          async processRequest(next, { requestDigest }) {
            const result = await next();
            const identity = requestDigest.requestContext.expressv4?.res.locals.identity as Identity | undefined;
            const inferred = identity && byRequest.get(identity);
            if (!inferred || result?.type !== 'json') return result;
            const { extensions, ...payload } = result.json as { extensions?: object };
            return { ...result, json: { ...payload, extensions: { ...extensions, inferred } } as never };
          },
        },
      },
    },
  };
}
