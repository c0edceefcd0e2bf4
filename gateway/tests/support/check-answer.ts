// Tools list lean output schemas. Tests hold answers to the whole ones, from which GraphQL makes its types.
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import { z } from 'zod';
import { operationOf } from '../../src/mcp/tools.ts';

const validator = new AjvJsonSchemaValidator();
const checks = new Map<string, ReturnType<typeof validator.getValidator>>();

/** Throws unless the answer of a tool has all fields of its operation, of their types, and no other. */
export function checkAnswer(tool: string, answer: object | undefined): void {
  const operation = operationOf(tool);
  if (!operation) throw new Error(`there is no tool ${tool}`);
  const check = checks.get(tool) ?? validator.getValidator(z.toJSONSchema(operation.output, { io: 'output' }) as never);
  checks.set(tool, check);
  const { inferred: _, ...output } = (answer ?? {}) as Record<string, unknown>;
  const { errorMessage } = check(output);
  if (errorMessage) throw new Error(`the answer of ${tool} does not fit its schema: ${errorMessage}`);
}
