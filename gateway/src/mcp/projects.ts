// The project of a recall, and the names of projects that a caller may see.
import type { Identity } from '../auth/identity.ts';
import { listProjects } from '../operations/list-projects.ts';
import { BUDGET, type Recalling } from '../recall/recall.ts';
import { CallRefused, type Calls } from './calls.ts';

/** A recall in the project that is named, or else in the caller's own. */
export function recallingIn(
  { defaultProject }: Identity,
  named: string | null,
  budget: number = BUDGET.start,
): Recalling {
  const project = named ?? defaultProject;
  return { budget, given: new Set(), isInProject: project !== null, ...(project !== null && { project }) };
}

/** The projects in which the caller may read memories, in the order in which JavaScript compares their names. */
export async function readableProjects({ run }: Calls): Promise<string[]> {
  const called = await run(listProjects);
  if (called.error) throw new CallRefused(called.error);
  return (called.output.projects as string[]).toSorted();
}
