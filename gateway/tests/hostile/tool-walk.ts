// Every property of the input of every MCP tool, and every part of a call.
import { z } from 'zod';
import { operationOf } from '../../src/mcp/tools.ts';
import { type Dice, expected, hostile, type Known } from './values.ts';

interface Schema {
  type?: string | string[];
  format?: string;
  enum?: string[];
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
}

export interface ToolTarget {
  name: string;
  tool: string;
  input: Schema;
  /** The properties that lead to the place of the hostile value; null: a part of the call itself. */
  path: readonly string[] | null;
  part?: 'params' | 'name' | 'arguments' | 'method' | 'id' | '_meta';
}

const optionsOf = (schema: Schema): Schema[] => (schema.anyOf ?? [schema]).filter(({ type }) => type !== 'null');

interface Listed {
  name: string;
  inputSchema: object;
}

/** The tool with the schema that its operation checks by, since the listed one says less; memory_store lists the fields of kinds. */
export const wholeInput = ({ name, inputSchema }: Listed): Listed => ({
  name,
  inputSchema: name === 'memory_store' ? inputSchema : z.toJSONSchema(operationOf(name)!.input, { io: 'input' }),
});

export function toolTargetsOf(tools: readonly Listed[]): ToolTarget[] {
  const targets: ToolTarget[] = [];
  for (const { name: tool, inputSchema } of tools) {
    const input = inputSchema as Schema;
    for (const part of ['params', 'name', 'arguments', 'method', 'id', '_meta'] as const)
      targets.push({ name: `${tool}: ${part} of the call`, tool, input, path: null, part });
    const walk = (schema: Schema, path: string[]) => {
      for (const option of optionsOf(schema)) {
        if (option.items) walk(option.items, path);
        for (const [property, inner] of Object.entries(option.properties ?? {})) {
          const deeper = [...path, property];
          targets.push({ name: `${tool}(${deeper.join('.')})`, tool, input, path: deeper });
          walk(inner, deeper);
        }
      }
    };
    walk(input, []);
  }
  return targets;
}

const scalars: Record<string, string> = {
  string: 'String',
  integer: 'Int',
  number: 'Float',
  boolean: 'Boolean',
  object: 'JSON',
  array: 'JSON',
};

function scalarOf({ type, format }: Schema): string {
  if (format === 'uuid' || format === 'guid') return 'UUID';
  if (format === 'date-time') return 'Datetime';
  return scalars[String(Array.isArray(type) ? type.find((one) => one !== 'null') : type)] ?? 'JSON';
}

function jsonOf(dice: Dice, name: string, schema: Schema, known: Known, path?: readonly string[]): string {
  const [option = {}] = optionsOf(schema);
  if (path?.length === 0 && !(option.items && dice.below(2) === 0)) return hostile(dice, scalarOf(option));
  if (option.items) return `[${jsonOf(dice, name, option.items, known, path)}]`;
  if (option.enum) return JSON.stringify(dice.pick(option.enum));
  if (!option.properties) return expected(dice, name, scalarOf(option), known);
  const [place, ...deeper] = path ?? [];
  const parts = Object.entries(option.properties)
    .filter(([property]) => property === place || property === 'project_id' || option.required?.includes(property))
    .map(
      ([property, inner]) =>
        `${JSON.stringify(property)}:${jsonOf(dice, property, inner, known, property === place ? deeper : undefined)}`,
    );
  return `{${parts.join()}}`;
}

/** The body of a JSON-RPC request. */
export function toolRequestFor({ tool, input, path, part }: ToolTarget, dice: Dice, known: Known): string {
  const given = jsonOf(dice, tool, input, known, path ?? undefined);
  const parts = { name: JSON.stringify(tool), arguments: given };
  if (part === 'name' || part === 'arguments') parts[part] = hostile(dice, 'JSON');
  const meta = part === '_meta' ? `,"_meta":${hostile(dice, 'JSON')}` : '';
  const params =
    part === 'params' ? hostile(dice, 'JSON') : `{"name":${parts.name},"arguments":${parts.arguments}${meta}}`;
  const id = part === 'id' ? hostile(dice, 'Int') : '1';
  const method = part === 'method' ? hostile(dice, 'String') : '"tools/call"';
  return `{"jsonrpc":"2.0","id":${id},"method":${method},"params":${params}}`;
}
