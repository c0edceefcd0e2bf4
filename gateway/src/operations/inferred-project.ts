// What a call leaves out is filled in from the working copy of the client. It is a default: the database decides what the
// caller may read and write.
import type { Identity } from '../auth/identity.ts';
import type { AnyOperation } from './operation.ts';

export interface Inferred {
  project_id: string;
}

type Input = Record<string, unknown>;

const EVERY_PROJECT = '*';
const isObject = (value: unknown): value is Input =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isBlank = (value: unknown) => value === undefined || value === null || value === '';

/** The input with the project that the read is narrowed to; `*` stands for every project. */
export function fillInProject(operation: AnyOperation, { inferredProject }: Identity, given: unknown): unknown {
  const input = given ?? {};
  if (!isObject(input) || operation.inferredProject(input) !== 'narrows') return given;
  const { project_id, ...others } = input;
  if (project_id === EVERY_PROJECT) return others;
  return isBlank(project_id) && inferredProject !== null ? { ...others, project_id: inferredProject } : given;
}

/** What was inferred for a call that succeeded: for a write, the project that the database gave to what was written. */
export function inferredIn(
  operation: AnyOperation,
  { inferredProject: project_id }: Identity,
  given: unknown,
  output: unknown,
): Inferred | null {
  const input = given ?? {};
  if (project_id === null || !isObject(input) || !isBlank(input.project_id)) return null;
  const effect = operation.inferredProject(input);
  const isInferred = effect === 'narrows' || (effect === 'owns' && projectOf(output) === project_id);
  return isInferred ? { project_id } : null;
}

/** Whether the working copy of the client would have decided about the call, but is unknown. */
export function lacksProject(operation: AnyOperation, { inferredProject }: Identity, given: unknown): boolean {
  const input = given ?? {};
  return (
    inferredProject === null &&
    isObject(input) &&
    isBlank(input.project_id) &&
    operation.inferredProject(input) !== null &&
    input.scope !== 'global'
  );
}

/** The project of a row, or of the row that the output holds. */
function projectOf(output: unknown): unknown {
  if (!isObject(output)) return null;
  return [output, ...Object.values(output).filter(isObject)].find((row) => 'project_id' in row)?.project_id;
}
