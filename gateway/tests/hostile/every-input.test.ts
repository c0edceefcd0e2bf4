// Hostile values in every field, argument, order and filter of the exported GraphQL schema and in every tool of MCP: whatever is
// sent, the answer is a documented error or a result, never a fault of the gateway.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { buildSchema } from 'postgraphile/graphql';
import { serverUrl } from '../../../db/tests/support/engine.ts';
import { cheapEmbedder } from '../access/attacker.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { type Answer, faultIn, inTurns } from './answers.ts';
import { requestFor, requestsOf, type Target, targetsOf } from './schema-walk.ts';
import { saveSomethingOfEverything } from './something-of-everything.ts';
import { type ToolTarget, toolRequestFor, toolTargetsOf, wholeInput } from './tool-walk.ts';
import { type Dice, diceOf, type Known } from './values.ts';

const seed = Number(process.env.HOSTILE_SEED || Date.now() % 1_000_000_000);
// In WebAssembly each takes several times as long. There a sample is put, and on a server each target at least once.
const wanted = Number(process.env.HOSTILE_REQUESTS || (serverUrl ? 4_500 : 500));
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

  it(`gets a documented answer for ${wanted} hostile requests (HOSTILE_SEED=${seed})`, async () => {
    const targets = targetsOf(schema);
    const all = requestsOf(targets);
    const alone = all.filter(({ length }) => length === 1);
    const { tools } = await (await gateway.mcp('C', 'all')).listTools();
    const toTools = toolTargetsOf(tools.map(wholeInput));
    const atLeast = (wantedOf: number, targets: number) => (serverUrl ? Math.max(wantedOf, targets) : wantedOf);
    const calls = atLeast(Math.ceil(wanted * TO_TOOLS), toTools.length);
    const count = calls + atLeast(Math.floor(wanted * (1 - TO_TOOLS)), all.length);
    const order = (length: number, salt: number) =>
      fc.sample(fc.shuffledSubarray([...Array(length).keys()], { minLength: length }), {
        seed: seed + salt,
        numRuns: 1,
      })[0]!;
    const orders = { all: order(all.length, 0), tools: order(toTools.length, 1), alone: order(alone.length, 2) };
    const dice = fc.sample(fc.array(fc.nat(), { minLength: 24, maxLength: 24 }), { seed, numRuns: count });
    const [L, C] = [
      await gateway.token({ caller: 'L', expires: '60m' }),
      await gateway.token({ caller: 'C', expires: '60m' }),
    ];

    /** By what went wrong, so that one cause shows once. */
    const faults = new Map<string, string[]>();
    const note = (answer: Answer, what: string) => {
      const fault = faultIn(answer);
      if (fault) faults.set(fault, [...(faults.get(fault) ?? []), what]);
    };
    /** The targets that were put. */
    const reached = new Set<string>();
    const post = async (path: string, body: string, headers: Record<string, string>) => {
      const response = await fetch(`${gateway.instance.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
        body,
      });
      return { status: response.status, text: await response.text() };
    };
    /** Several targets go into one request, unless they are too much for one. */
    const put = async (those: readonly Target[], dice: Dice, caller: 'C' | 'L', number: number) => {
      const { query, variables } = requestFor(those, dice, known);
      const body = `{"query":${JSON.stringify(query)},"variables":${variables}}`;
      const answer = await post('/graphql', body, { authorization: `Bearer ${caller === 'L' ? L : C}` });
      const names = those.map(({ name }) => name);
      note(answer, `${number}. ${names.join(', ')} as ${caller}: ${body.slice(0, 500)}`);
      if (those.length === 1 || /"data":/.test(answer.text)) for (const name of names) reached.add(name);
      else for (const target of those) await put([target], dice, caller, number);
    };
    const putToTool = async (target: ToolTarget, dice: Dice, caller: 'C' | 'L', number: number) => {
      const body = toolRequestFor(target, dice, known);
      const answer = await post('/mcp', body, { 'x-api-key': gateway.apiKey(caller) });
      note(answer, `${number}. ${target.name} as ${caller}: ${body.slice(0, 500)}`);
      reached.add(target.name);
    };
    /** Each target once, then those with hostile values again. */
    const graphqlOf = (place: number) =>
      place < all.length ? all[orders.all[place]!]! : alone[orders.alone[(place - all.length) % alone.length]!]!;
    await inTurns(only ?? [...Array(count).keys()], async (number) => {
      const ofCase = diceOf(dice[number]!);
      const caller = ofCase.below(3) === 0 ? 'C' : 'L';
      if (number < calls) await putToTool(toTools[orders.tools[number % toTools.length]!]!, ofCase, caller, number);
      else await put(graphqlOf(number - calls), ofCase, caller, number);
    });
    const told = [...faults].map(([fault, cases]) => `${cases.length} × ${fault}\n  ${cases.slice(0, 2).join('\n  ')}`);
    const repeat = `HOSTILE_SEED=${seed} HOSTILE_REQUESTS=${wanted} npm test -- gateway/tests/hostile`;
    expect(faults.size, `to repeat it: ${repeat}\n${told.join('\n')}`).toBe(0);
    const missed = [...targets, ...toTools].map(({ name }) => name).filter((name) => !reached.has(name));
    if (!only && serverUrl) expect(missed).toStrictEqual([]);
    if (!only) expect(reached.size).toBeGreaterThanOrEqual(Math.min(wanted, targets.length) / 2);
  });
});
