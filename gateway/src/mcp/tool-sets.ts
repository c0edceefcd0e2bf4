// The sets of tools that a client asks for.
import { KnownError } from '../base/errors.ts';
import { type ToolSet, toolSets } from '../operations/operation.ts';

const isToolSet = (name: string): name is ToolSet => (toolSets as readonly string[]).includes(name);

/** The sets that a client asked for, as in `core,knowledge`; null if it asked for none. Throws L9VAL. */
export function parseToolSets(asked: string | null): readonly ToolSet[] | null {
  const names = (asked ?? '').split(',').map((name) => name.trim());
  const given = names.filter(Boolean);
  if (given.length === 0) return null;
  if (given.every((name) => name === 'all' || isToolSet(name)))
    return given.includes('all') ? toolSets : toolSets.filter((name) => given.includes(name));
  throw new KnownError('L9VAL', `tools: each must be one of ${toolSets.join(', ')}, all`, 'tools');
}
