// Says in the answer to a request what its operations took from the working copy of the client, as the results of MCP do:
// extensions.inferred has projectId and branch under the name of each field.
import type { Identity } from '../../auth/identity.ts';
import type { Inferred } from '../../operations/inferred-project.ts';
import type { Edit } from './answers.ts';

export function createInferred() {
  // Each request has an identity of its own.
  const byRequest = new WeakMap<Identity, Record<string, object>>();
  const addInferred: Edit = (answer, { identity }) => {
    const inferred = byRequest.get(identity);
    if (!inferred) return answer;
    return { ...answer, json: { ...answer.json, extensions: { ...answer.json.extensions, inferred } } };
  };
  return {
    onInferred(identity: Identity, field: string, { project_id, branch }: Inferred): void {
      const fields = byRequest.get(identity) ?? {};
      // One field may stand in a request several times, with arguments of its own each time.
      fields[field] = { ...fields[field], ...(project_id && { projectId: project_id }), ...(branch && { branch }) };
      byRequest.set(identity, fields);
    },
    addInferred,
  };
}
