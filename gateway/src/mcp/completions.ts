// Completions of the arguments of prompts and of templates of resources: names of projects in which the caller may read memories.
import type { CompleteRequestParams, CompleteResult } from '@modelcontextprotocol/server';
import type { Calls } from './calls.ts';
import { readableProjects } from './projects.ts';
import * as prompts from './prompts.ts';
import { asProtocolError, invalid, orProtocolError } from './protocol-errors.ts';
import { isTemplate, takesProject } from './resource-uris.ts';

/** As many as the protocol admits. */
const MOST_VALUES = 100;

function isOfProject({ ref, argument }: CompleteRequestParams, calls: Calls): boolean | null {
  if (ref.type === 'ref/prompt') return prompts.takesProject(ref.name, argument.name, calls);
  return isTemplate(ref.uri) ? takesProject(ref.uri, argument.name) : null;
}

export async function complete(calls: Calls, params: CompleteRequestParams): Promise<CompleteResult> {
  const isWanted = isOfProject(params, calls);
  if (isWanted === null)
    throw asProtocolError(
      await calls.refuse('completion/complete', invalid('ref', 'there is no such prompt or template')),
    );
  if (!isWanted) return { completion: { values: [] } };
  const begun = params.argument.value.toLowerCase();
  const projects = await orProtocolError(() => readableProjects(calls));
  const values = projects.filter((project) => project.toLowerCase().startsWith(begun));
  const total = values.length;
  return { completion: { values: values.slice(0, MOST_VALUES), total, hasMore: total > MOST_VALUES } };
}
