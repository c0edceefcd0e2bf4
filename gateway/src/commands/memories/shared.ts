// What the commands on memories share: where they work, how a memory is read, and what it looks like.
import { basename } from 'node:path';
import { loadConfig } from '../../config/config.ts';
import { isProject } from '../../input/names.ts';
import { inferProject } from '../../mcp/working-copy.ts';
import { type Client, checkIds, Refused } from '../support/client.ts';
import { minuteOf, type OutputOptions } from '../support/output.ts';

export const MEMORY = `packetId kind title content envelope scope projectId branch tags speaker threadId timestamp createdAt updatedAt
  estimatedImportance supersededBy reviewState reviewReason archivedAt ttl metadata textCreator`;
export const FACT =
  'factId subject predicate object confidence validFrom validTo supersededAt retractedAt sourcePacket creator';

export interface Memory {
  packetId: string;
  kind: string;
  title: string | null;
  content: string;
  envelope: Record<string, unknown>;
  scope: string;
  projectId: string | null;
  branch: string | null;
  tags: string[];
  speaker: string | null;
  threadId: string | null;
  timestamp: string;
  updatedAt: string;
  supersededBy: string | null;
  reviewState: string | null;
  reviewReason: string | null;
  metadata: { creator?: string };
}

export interface Fact {
  subject: string;
  predicate: string;
  object: unknown;
  confidence: number;
  validFrom: string;
  validTo: string | null;
  supersededAt: string | null;
  retractedAt: string | null;
}

export interface PlaceOptions extends OutputOptions {
  project?: string | undefined;
  allProjects?: boolean;
  scope?: string;
}

/** The project that is given, else that of the working copy, else the name of this folder. */
export function projectFor(env: NodeJS.ProcessEnv, { project, scope, allProjects }: PlaceOptions): string | undefined {
  if (project !== undefined) return project;
  if (scope === 'global' || allProjects) return undefined;
  const folder = basename(process.cwd());
  return inferProject(loadConfig(env).place.project, process.cwd()) ?? (isProject(folder) ? folder : 'default');
}

export const placeOf = ({ scope, projectId }: Pick<Memory, 'scope' | 'projectId'>) =>
  [scope, projectId].filter(Boolean).join(', ');

const SHOW = `query ($packetId: UUID!) { getMemory(packetId: $packetId) { ${MEMORY} facts(first: 50) { nodes { ${FACT} } } } }`;

export type Whole = Memory & { facts: { nodes: Fact[] } };

export async function read(client: Client, packetId: string): Promise<Whole> {
  checkIds(packetId);
  const { getMemory } = await client.request<{ getMemory: Whole }>(SHOW, { packetId });
  return getMemory;
}

export const objectOf = ({ object }: Fact) => (typeof object === 'string' ? object : JSON.stringify(object));
export const stateOf = ({ supersededAt, retractedAt, validTo }: Fact) =>
  retractedAt ? 'retracted' : supersededAt ? 'superseded' : validTo ? `until ${minuteOf(validTo)}` : '';
export const sentenceOf = (fact: Fact) =>
  `${fact.subject} ${fact.predicate} ${objectOf(fact)} (${[fact.confidence.toFixed(2), stateOf(fact)].filter(Boolean).join(', ')})`;

export function numberOf(option: string, text: string, most: number): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= 1 && number <= most) return number;
  throw new Refused(`${option}: a whole number from 1 to ${most}`);
}
