// Hostile values in every field, argument, order and filter of the exported GraphQL schema and in every tool of MCP: whatever is
// sent, the answer is a documented error or a result, never a fault of the gateway.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { buildSchema } from 'postgraphile/graphql';
import { cheapEmbedder } from '../access/attacker.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { faultIn, inTurns } from './answers.ts';
import { requestFor, targetsOf } from './schema-walk.ts';
import { saveSomethingOfEverything } from './something-of-everything.ts';
import { toolRequestFor, toolTargetsOf } from './tool-walk.ts';
import { diceOf, type Known } from './values.ts';

const seed = Number(process.env.HOSTILE_SEED || Date.now() % 1_000_000_000);
const count = Number(process.env.HOSTILE_REQUESTS || 5_000);
// Some requests are repeated alone by HOSTILE_ONLY=12,13.
const only = process.env.HOSTILE_ONLY?.split(',').map(Number);
const TO_TOOLS = 0.2;

const schema = buildSchema(readFileSync(join(import.meta.dirname, '..', '..', 'schema.graphql'), 'utf8'));

describe('every input of every API', () => {
  let gateway: TestGateway;
  let known: Known;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: cheapEmbedder });
    known = await saveSomethingOfEverything(gateway);
  });
  afterAll(() => gateway?.close());

  it(`gets a documented answer for ${count} hostile requests (HOSTILE_SEED=${seed})`, async () => {
    const toGraphql = targetsOf(schema);
    const toTools = toolTargetsOf((await (await gateway.mcp('C', 'all')).listTools()).tools);
    const requests = Math.ceil(count * TO_TOOLS);
    const order = (length: number, salt: number) =>
      fc.sample(fc.shuffledSubarray([...Array(length).keys()], { minLength: length }), {
        seed: seed + salt,
        numRuns: 1,
      })[0]!;
    const orders = { graphql: order(toGraphql.length, 0), tools: order(toTools.length, 1) };
    const dice = fc.sample(fc.array(fc.nat(), { minLength: 24, maxLength: 24 }), { seed, numRuns: count });
    const [L, C] = [
      await gateway.token({ caller: 'L', expires: '60m' }),
      await gateway.token({ caller: 'C', expires: '60m' }),
    ];

    /** By what went wrong, so that one cause shows once. */
    const faults = new Map<string, string[]>();
    const post = async (path: string, body: string, headers: Record<string, string>) => {
      const response = await fetch(`${gateway.instance.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
        body,
      });
      return { status: response.status, text: await response.text() };
    };
    const put = async (number: number) => {
      const ofCase = diceOf(dice[number]!);
      const isTool = number < requests;
      const caller = ofCase.below(3) === 0 ? 'C' : 'L';
      let what: string;
      let body: string;
      if (isTool) {
        const target = toTools[orders.tools[number % toTools.length]!]!;
        what = target.name;
        body = toolRequestFor(target, ofCase, known);
      } else {
        const target = toGraphql[orders.graphql[(number - requests) % toGraphql.length]!]!;
        what = target.name;
        const { query, variables } = requestFor(target, ofCase, known);
        body = `{"query":${JSON.stringify(query)},"variables":${variables}}`;
      }
      const headers = isTool
        ? { 'x-api-key': gateway.apiKey(caller) }
        : { authorization: `Bearer ${caller === 'L' ? L : C}` };
      const answer = await post(isTool ? '/mcp' : '/graphql', body, headers);
      const fault = faultIn(answer);
      if (!fault) return;
      const others = faults.get(fault) ?? [];
      faults.set(fault, [...others, `${number}. ${what} as ${caller}: ${body.slice(0, 500)}`]);
    };
    await inTurns(only ?? [...Array(count).keys()], put);
    const told = [...faults].map(([fault, cases]) => `${cases.length} × ${fault}\n  ${cases.slice(0, 2).join('\n  ')}`);
    const repeat = `HOSTILE_SEED=${seed} HOSTILE_REQUESTS=${count} npm test -- gateway/tests/hostile`;
    expect(faults.size, `to repeat it: ${repeat}\n${told.join('\n')}`).toBe(0);
  });
});
