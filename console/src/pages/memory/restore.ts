// What has to change to bring a memory back to an earlier version.
import type { Memory, Version } from './query.ts';

/** Names in the state of a version, and what updateMemory calls them. */
const FIELDS = [
  ['kind', 'kind'],
  ['tags', 'tags'],
  ['scope', 'scope'],
  ['project_id', 'projectId'],
  ['branch', 'branch'],
  ['speaker', 'speaker'],
  ['language', 'language'],
  ['thread_id', 'threadId'],
  ['envelope', 'envelope'],
  ['estimated_importance', 'importance'],
] as const;

const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
const isEmpty = (value: unknown) => value === null || value === undefined || isSame(value, []) || isSame(value, {});

/** A memory shows its text in its envelope, too; a version keeps it beside. */
const withoutText = ({ content: _text, ...fields }: Record<string, unknown>) => fields;

export interface Restoration {
  /** The fields that differ, as people read them. */
  names: string[];
  input: Record<string, unknown>;
}

export function restorationOf(memory: Memory, { content, state }: Version): Restoration {
  const present: Record<string, unknown> = {
    kind: memory.kind,
    tags: memory.tags,
    scope: memory.scope,
    project_id: memory.projectId,
    branch: memory.branch,
    speaker: memory.speaker,
    language: memory.language,
    thread_id: memory.threadId,
    envelope: withoutText(memory.envelope),
    estimated_importance: memory.estimatedImportance,
  };
  const former: Record<string, unknown> = { ...state, envelope: withoutText(state.envelope ?? {}) };
  const names: string[] = [];
  const clear: string[] = [];
  const input: Record<string, unknown> = {};
  const hasFields = !isEmpty(former.envelope);
  for (const [name, argument] of FIELDS) {
    if (isSame(former[name], present[name]) || (isEmpty(former[name]) && isEmpty(present[name]))) continue;
    names.push(name.replaceAll('_', ' '));
    if (isEmpty(former[name])) clear.push(argument);
    else input[argument] = former[name];
  }
  if (content !== memory.content) {
    names.unshift('text');
    // The text of a kind with fields follows from them.
    if (!(hasFields && 'envelope' in input)) input.content = content;
  }
  return { names, input: clear.length > 0 ? { ...input, clear } : input };
}
