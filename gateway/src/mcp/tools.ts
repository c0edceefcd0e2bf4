// The tools of MCP, derived from the operations, and the sets by which they are listed.
import type { Tool } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { operations } from '../operations/index.ts';
import { builtInKinds } from '../operations/kind-fields.ts';
import type { AnyOperation, ToolSet } from '../operations/operation.ts';
import { RECALLS } from '../operations/recalled.ts';
import { dataSchema } from './kind-schemas.ts';
import { leanInput, leanOutput, type Schema } from './lean-schema.ts';
import { todaysCall } from './older-calls.ts';
import { REVIEW_WIDGET } from './review-widget.ts';

/** Answers also say what was inferred from the working copy, in a field of their own. */
const inferred = ({ input }: AnyOperation) =>
  input instanceof z.ZodObject && ('project_id' in input.shape || 'items' in input.shape)
    ? { inferred: { type: 'object' } }
    : {};

/** The fields of each kind stand in the schema of the items of memory_store. */
function withKinds(tool: Tool): Tool {
  if (tool.name !== 'memory_store') return tool;
  const input = tool.inputSchema as Schema;
  const { items } = input.properties!;
  const item = { ...items!.items, properties: { ...items!.items!.properties, data: dataSchema(builtInKinds) } };
  return {
    ...tool,
    inputSchema: { ...input, properties: { ...input.properties, items: { ...items, items: item } } },
  } as Tool;
}

/** Writes of the set core say it in their answers only, because models read that list on every turn. */
export const tellsThatItRecalls = ({ recalls, isReadOnly, toolSet }: AnyOperation) =>
  recalls !== undefined && (isReadOnly || toolSet !== 'core');

const tools: readonly { toolSet: ToolSet; tool: Tool }[] = operations.map((operation) => ({
  toolSet: operation.toolSet,
  tool: withKinds({
    name: operation.name,
    title: operation.title,
    description: tellsThatItRecalls(operation) ? `${operation.description} ${RECALLS}` : operation.description,
    inputSchema: leanInput(operation.input),
    outputSchema: leanOutput(operation.output, inferred(operation)),
    ...(operation.name === 'review_queue' && { _meta: { ui: { resourceUri: REVIEW_WIDGET } } }),
    // A tool that only reads is neither destructive nor is it worth saying that it can be repeated.
    annotations: operation.isReadOnly
      ? { readOnlyHint: true, openWorldHint: false }
      : { destructiveHint: operation.isDestructive, idempotentHint: operation.isIdempotent, openWorldHint: false },
  }),
}));

const byName = new Map(operations.map((operation) => [operation.name, operation]));

export const operationOf = (tool: string): AnyOperation | undefined => byName.get(todaysCall(tool).tool);

/** Says what a field means once in a list, because a model reads the whole list: fields of one name and meaning follow the first. */
function saidOnce(listed: readonly Tool[]): Tool[] {
  const said = new Set<string>();
  const shorter = (properties: Record<string, Schema>): Record<string, Schema> =>
    Object.fromEntries(
      Object.entries(properties).map(([name, { description, ...others }]) => {
        const words = `${name}: ${description}`;
        const isRepeated = description === undefined || said.has(words);
        said.add(words);
        const { items } = others;
        return [
          name,
          {
            ...others,
            ...(items?.properties && { items: { ...items, properties: shorter(items.properties) } }),
            ...(!isRepeated && { description }),
          },
        ];
      }),
    );
  return listed.map((tool) => {
    const properties = shorter((tool.inputSchema.properties ?? {}) as Record<string, Schema>);
    return { ...tool, inputSchema: { ...tool.inputSchema, properties } as Tool['inputSchema'] };
  });
}

/**
 * The tools of the sets asked for, as far as the key allows. By default those of its key, or else of the set core. What reviewers do
 * is listed for nobody else.
 */
export const listTools = (
  allowed: readonly string[] | null,
  asked: readonly ToolSet[] | null,
  isReviewer: boolean,
): Tool[] =>
  saidOnce(
    tools
      .filter(({ toolSet }) => toolSet !== 'review' || isReviewer)
      .filter(({ toolSet }) => allowed?.includes(toolSet) ?? true)
      .filter(({ toolSet }) => asked?.includes(toolSet) ?? (allowed !== null || toolSet === 'core'))
      .map(({ tool }) => tool),
  );
