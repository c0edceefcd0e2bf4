// Texts with a meaning in SQL, JSON, full text search, logs or terminals, in every text argument of every operation: each
// gets a documented answer, has no side effects, and is returned unchanged. ../graphql/injection.test.ts does the same for
// every GraphQL query, db/tests/hostile for every SQL function.
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { describeOnServer } from '../../../db/tests/support/on-engine.ts';
import { operations } from '../../src/operations/index.ts';
import type { AnyOperation } from '../../src/operations/operation.ts';
import type { TestGateway } from '../support/gateway.ts';
import { assertDocumented, assertNoTrace, everyPayload, isStorable, payloadsFor } from './attacker.ts';
import { askEach, startWatchedGateway, type WatchedGateway } from './watched-gateway.ts';

interface JsonSchema {
  type?: string | string[];
  format?: string;
  enum?: unknown[];
  items?: JsonSchema;
  anyOf?: JsonSchema[];
  properties?: Record<string, JsonSchema>;
}

/** Every argument of an operation that takes a text, alone, in a list or inside an object. */
function textArguments({ input }: AnyOperation): { name: string; wrap: (text: string) => unknown }[] {
  const { properties = {} } = z.toJSONSchema(input, { io: 'input' }) as JsonSchema;
  return Object.entries(properties).flatMap(([name, property]) =>
    (property.anyOf ?? [property]).flatMap((option) => {
      const types = [option.type ?? []].flat();
      if (types.includes('string')) return [{ name, wrap: (text: string) => text as unknown }];
      if (types.includes('array')) return [{ name, wrap: (text: string) => [text] as unknown }];
      if (types.includes('object')) {
        return [
          { name, wrap: (text: string) => ({ field: text }) as unknown },
          {
            name,
            wrap: (text: string) =>
              JSON.parse(`{${JSON.stringify(text)}: [{"deep": ${JSON.stringify(text)}}]}`) as unknown,
          },
        ];
      }
      return [];
    }),
  );
}

/** A field of Query with the argument in question in a variable, and the others as usual. */
const queryField = ({ name }: AnyOperation, argument: string) => {
  const field = camelCase(name);
  if (name === 'get_memory_stats') return `${field}(${camelCase(argument)}: $v) { total }`;
  const usual = { query: '"usual"', mode: 'lexical', [argument]: '$v' };
  const given = Object.entries(usual).map(([key, value]) => `${camelCase(key)}: ${value}`);
  return `${field}(${given.join(', ')}) { hits { content } searched { filters } }`;
};

/** Arguments of the two queries that are not a String. */
const argumentTypes: Record<string, string> = {
  query: 'String!',
  mode: 'SearchMode',
  tagsMatch: 'TagsMatch',
  scopes: '[String!]',
  kinds: '[String!]',
  tags: '[String!]',
  since: 'Datetime',
  until: 'Datetime',
};
const camelCase = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

describeOnServer('injection through the operations', () => {
  let watched: WatchedGateway;
  let gateway: TestGateway;
  let own: string;
  beforeAll(async () => {
    watched = await startWatchedGateway();
    gateway = watched.gateway;
    const saved = await gateway.tool('C', 'save_memory', { content: 'changed again and again', project_id: 'l9' });
    own = saved.result.memory.packet_id;
  });
  afterAll(() => gateway.close());

  /** All calls in one request, without the handshake of a client. */
  const callTools = async (name: string, all: object[]) => {
    const response = await fetch(`${gateway.instance.url}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'x-api-key': gateway.apiKey('C'),
      },
      body: JSON.stringify(
        all.map((args, id) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } })),
      ),
    });
    // biome-ignore lint/suspicious/noExplicitAny: results differ by tool
    const answers = (await response.json()) as { id: number; result: any }[];
    return answers.toSorted((one, other) => one.id - other.id).map(({ result }) => result);
  };
  const required = (operation: AnyOperation): Record<string, unknown> => {
    const shape = Object.keys((z.toJSONSchema(operation.input, { io: 'input' }) as JsonSchema).properties ?? {});
    const usual: Record<string, unknown> = {
      content: 'usual',
      project_id: 'l9',
      query: 'usual',
      mode: 'lexical',
      packet_id: own,
    };
    if (operation.name === 'search_memory') usual.project_id = undefined;
    if (operation.name === 'update_memory') return { packet_id: own };
    return Object.fromEntries(
      Object.entries(usual).filter(([name, value]) => shape.includes(name) && value !== undefined),
    );
  };

  let places = 0;
  for (const operation of operations) {
    for (const [index, { name, wrap }] of textArguments(operation).entries()) {
      const place = places++;
      it(`treats ${operation.name}(${name}${index > 0 && textArguments(operation)[index - 1]?.name === name ? ', as a name' : ''}) as data, over MCP and GraphQL`, async () => {
        const payloads = operation.name === 'save_memory' && name === 'content' ? everyPayload : payloadsFor(place);
        const given = payloads.map((payload, n): Record<string, unknown> => {
          const all: Record<string, unknown> = { ...required(operation), [name]: wrap(payload) };
          // Else the second of two would be a duplicate.
          if ('content' in all && name !== 'content') all.content = `${operation.name} ${name} ${index} ${n}`;
          return all;
        });
        const check = (payload: string, api: string, code: string | null, text: string) => {
          const what = `${api} ${operation.name}(${name}: ${JSON.stringify(payload).slice(0, 60)})`;
          if (code !== null) assertDocumented(code, `${what}: ${text.slice(0, 300)}`);
          else expect(isStorable(payload), `${what}: was not refused`).toBe(true);
          assertNoTrace(text, watched.traces, what);
          return what;
        };

        for (const [n, answer] of (await callTools(operation.name, given)).entries()) {
          const payload = payloads[n]!;
          const ofItem = answer.structuredContent?.errors?.[0]?.code ?? null;
          const code = answer.isError ? (/^(\w+) \(/.exec(answer.content[0].text)?.[1] ?? 'none') : ofItem;
          const what = check(payload, 'MCP', code, JSON.stringify(answer));
          const { status, memory, reflection } = answer.structuredContent ?? {};
          if (status !== 'inserted' && status !== 'updated') continue;
          if (reflection && name === 'content') expect(reflection.content, what).toBe(payload);
          if (!memory) continue;
          const kept = memory[name];
          if (name === 'tags') expect(kept, what).toStrictEqual([payload.trim()]);
          else if (name === 'content' || name.endsWith('_id')) expect(kept, what).toBe(payload);
          else if (typeof kept === 'object' && !Array.isArray(kept) && kept !== null) {
            // Not toStrictEqual, which takes a key `constructor` for the object's class.
            expect(isDeepStrictEqual({ ...kept, ...(wrap(payload) as object) }, kept), what).toBe(true);
          }
        }

        // The same through GraphQL, in other words, lest they be duplicates.
        if (operation.name === 'get_memory') return;
        const asVariables = given.map((all) =>
          Object.fromEntries(
            Object.entries(all).map(([key, value]) => [
              camelCase(key),
              key === 'content' && operation.name === 'save_memory' && name !== key ? `${value} again` : value,
            ]),
          ),
        );
        const isQuery = ['search_memory', 'get_memory_stats'].includes(operation.name);
        const [type, field] = isQuery
          ? [argumentTypes[camelCase(name)] ?? 'String', queryField(operation, name)]
          : [
              `${camelCase(`_${operation.name}`)}Input!`,
              `${camelCase(operation.name)}(input: $v) ${operation.name === 'memory_store' ? '{ errors { code } }' : '{ __typename }'}`,
            ];
        const values = isQuery ? payloads.map(wrap) : asVariables;
        const answers = await askEach(watched, isQuery ? 'query' : 'mutation', type, field, values);
        for (const [n, { code, text }] of answers.entries()) {
          const ofItem = /"errors":\[\{"code":"(\w+)"/.exec(text)?.[1] ?? null;
          check(payloads[n]!, 'GraphQL', code ?? ofItem, text);
        }
        await watched.unharmed();
      });
    }
  }

  it('logs no hostile text, key or token', () => watched.assertCleanLog());
});
