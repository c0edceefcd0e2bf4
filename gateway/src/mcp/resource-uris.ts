// The addresses of resources: a memory by its id, and the brief of a project.
import type { ResourceTemplateType } from '@modelcontextprotocol/server';
import { RECALLS } from '../operations/recalled.ts';

export const TEXT = 'text/plain';
const MEMORY = 'memory://{id}';
const BRIEF = 'memory://project/{project}/brief';

export const resourceTemplates: ResourceTemplateType[] = [
  {
    uriTemplate: MEMORY,
    name: 'memory',
    title: 'A memory',
    description: `One memory in full, by its id. ${RECALLS}`,
    mimeType: TEXT,
  },
  {
    uriTemplate: BRIEF,
    name: 'brief',
    title: 'The brief of a project',
    description: `What a session in a project starts with: its rules, decisions, open todos, lessons and last session. ${RECALLS}`,
    mimeType: TEXT,
  },
];

/** Longer ones are no address of a resource, so that no answer repeats them. */
export const MAX_URI_LENGTH = 2_000;

export type Address = { memory: string } | { project: string };

export const briefUri = (project: string): string => BRIEF.replace('{project}', encodeURIComponent(project));

/** What an address names, or null. A slash in the name of a project may stand as it is. */
export function addressOf(uri: string): Address | null {
  if (uri.length > MAX_URI_LENGTH) return null;
  const [, project] = /^memory:\/\/project\/(.+)\/brief$/i.exec(uri) ?? [];
  const [, id] = /^memory:\/\/([^/?#]+)$/i.exec(uri) ?? [];
  try {
    if (project !== undefined) return { project: decodeURIComponent(project) };
    return id === undefined ? null : { memory: decodeURIComponent(id) };
  } catch {
    return null;
  }
}

/** Whether a project completes the argument of a template. */
export const takesProject = (uriTemplate: string, argument: string): boolean =>
  uriTemplate === BRIEF && argument === 'project';

export const isTemplate = (uri: string): boolean => resourceTemplates.some(({ uriTemplate }) => uriTemplate === uri);
