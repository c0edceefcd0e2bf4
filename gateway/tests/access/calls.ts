// Calls an operation by its name and arguments in SQL, through each API.

import type { Fields } from '../../../db/tests/support/kinds.ts';
import { named } from '../../../db/tests/support/named.ts';
import type { TestGateway } from '../support/gateway.ts';

export interface Call {
  name: 'psql' | 'GraphQL' | 'MCP';
  /** The error code, or null where the call was accepted. */
  call(caller: string, operation: string, args: Fields): Promise<string | null>;
}

/** The names of operations over GraphQL and MCP, where they differ from those in SQL. */
const otherNames: Record<string, string> = { apply_world_update: 'update_world_model', save_summary: 'summarize' };
const inJson = new Set(['items', 'object', 'insight', 'envelope', 'metadata']);

const pascal = (name: string) => name.replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase());
const camel = (name: string) => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
const camelKeys = (args: object) => Object.fromEntries(Object.entries(args).map(([key, value]) => [camel(key), value]));

export const callsOf = (gateway: TestGateway): Call[] => [
  {
    name: 'psql',
    async call(caller, operation, args) {
      const values = Object.entries(args).map(([key, value]) => (inJson.has(key) ? JSON.stringify(value) : value));
      // memory_store answers with a row for each item, the other functions with one row.
      const query = `select to_jsonb(r) ->> 'sqlstate' as sqlstate from public.${operation}(${named(args)}) r`;
      return gateway.sql(caller, query, values).then(
        (rows) => rows[0]?.sqlstate ?? null,
        (error: { code: string }) => error.code,
      );
    },
  },
  {
    name: 'GraphQL',
    async call(caller, operation, args) {
      const mutation = pascal(otherNames[operation] ?? operation);
      const answer = operation === 'memory_store' ? 'errors { sqlstate }' : 'clientMutationId';
      const input =
        operation === 'memory_store'
          ? { items: (args.items as object[]).map(camelKeys) }
          : { ...camelKeys(args), clientMutationId: 'x' };
      const { data, errors } = await gateway.graphql(
        caller,
        `mutation ($input: ${mutation}Input!) { ${camel(`_${mutation}`).replace(/^./, (c) => c.toLowerCase())}(input: $input) { ${answer} } }`,
        { input },
      );
      if (errors) return errors[0]!.extensions?.sqlstate ?? errors[0]!.message;
      return data?.memoryStore?.errors[0]?.sqlstate ?? null;
    },
  },
  {
    name: 'MCP',
    async call(caller, operation, args) {
      const name = otherNames[operation] ?? operation;
      const { isError, text, result } = await gateway.tool(caller, name, args);
      // An operation that MCP does not offer is tried by the other APIs.
      if (isError) return /not found|unknown tool/i.test(text) ? null : (text.match(/\((L9\w{3})\)/)?.[1] ?? text);
      return result?.errors?.[0]?.sqlstate ?? null;
    },
  },
];
