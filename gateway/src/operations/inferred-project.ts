// Fills in the project and branch that a call leaves out, from the working copy of the client. These are defaults: the database
// decides what the caller may read and write.
import { z } from 'zod';
import type { Identity } from '../auth/identity.ts';
import type { AnyOperation } from './operation.ts';
import { isLeftOut, isObject } from './read-input.ts';

export interface Inferred {
  project_id?: string;
  branch?: string;
}

type Input = Record<string, unknown>;

/** Stands for every project, and for every branch. */
const EVERY = '*';
const takesBranch = ({ input }: AnyOperation) =>
  input instanceof z.ZodObject && ('branch' in input.shape || 'items' in input.shape);

/** The project and the branch that narrow a read which leaves them out. */
function narrowing(operation: AnyOperation, identity: Identity, input: Input): Inferred {
  const { inferredProject, inferredBranch, defaultProject } = identity;
  const project = isLeftOut(input.project_id) ? inferredProject : input.project_id;
  // Another project has other branches.
  const isOfProject = defaultProject === null || project === defaultProject;
  return {
    ...(isLeftOut(input.project_id) && inferredProject !== null && { project_id: inferredProject }),
    ...(takesBranch(operation) &&
      isLeftOut(input.branch) &&
      inferredBranch !== null &&
      isOfProject && { branch: inferredBranch }),
  };
}

/** The input with the project and branch that the read is narrowed to; `*` stands for every project. */
export function fillInProject(operation: AnyOperation, identity: Identity, given: unknown): unknown {
  const input = given ?? {};
  if (!isObject(input) || operation.inferredProject(input) !== 'narrows') return given;
  const { project_id, ...others } = input;
  return { ...(project_id === EVERY ? others : input), ...narrowing(operation, identity, input) };
}

/** The project and branch that were inferred for a call that succeeded: for a write, those that the database stored. */
export function inferredIn(
  operation: AnyOperation,
  identity: Identity,
  given: unknown,
  output: unknown,
): Inferred | null {
  const input = given ?? {};
  if (!isObject(input)) return null;
  const effect = operation.inferredProject(input);
  const inferred =
    effect === 'narrows'
      ? narrowing(operation, identity, input)
      : effect === 'owns'
        ? owning(operation, identity, input, output)
        : {};
  return Object.keys(inferred).length > 0 ? inferred : null;
}

/** Whether the working copy of the client would have decided about the call, or an item of it, but is unknown. */
export function lacksProject(operation: AnyOperation, { inferredProject }: Identity, given: unknown): boolean {
  const input = given ?? {};
  if (inferredProject !== null || !isObject(input) || operation.inferredProject(input) === null) return false;
  const rows = Array.isArray(input.items) ? input.items.filter(isObject) : [input];
  return rows.some(({ project_id, scope }) => isLeftOut(project_id) && scope !== 'global');
}

function owning(
  operation: AnyOperation,
  { inferredProject, inferredBranch }: Identity,
  input: Input,
  output: unknown,
): Inferred {
  const rows = rowsOf(input, output);
  const isInferred = (name: 'project_id' | 'branch', value: string | null): value is string =>
    value !== null && rows.some(([asked, row]) => isLeftOut(asked[name]) && row[name] === value);
  return {
    ...(isInferred('project_id', inferredProject) && { project_id: inferredProject }),
    ...(takesBranch(operation) && isInferred('branch', inferredBranch) && { branch: inferredBranch }),
  };
}

/** The row with a project that the output is, or holds; of a batch, each item with the row that it became. */
function rowsOf(input: Input, output: unknown): [asked: Input, row: Input][] {
  if (!isObject(output)) return [];
  if (Array.isArray(input.items) && Array.isArray(output.stored))
    return output.stored.filter(isObject).map((row) => [(input.items as Input[])[Number(row.index)] ?? {}, row]);
  const row = [output, ...Object.values(output).filter(isObject)].find((it) => 'project_id' in it);
  return row ? [[input, row]] : [];
}
