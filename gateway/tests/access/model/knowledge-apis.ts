// Calls the operations on facts, graph, world and summaries through any API, by their names and arguments in SQL.

import type { Run, Turn } from './run.ts';
import { type Answer, askGraphql, askMcp, camel, type Fields, type Json, statement } from './session-apis.ts';

const jsonParameters = new Set(['object', 'insight']);

/** Where an API does not have it, SQL does. */
const tools = new Set(['assert_fact', 'reflect', 'explore_graph', 'find_facts']);

/** The GraphQL mutation, where it is not named like the SQL function. */
const mutations: Record<string, string> = { apply_world_update: 'update_world_model', save_summary: 'summarize' };

/** GraphQL has them in `admin`, with plain arguments. */
const ofAdministrators = new Set(['erase_memory']);

const argumentsIn = (given: Fields) =>
  Object.entries(camel(given)).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);

const pascal = (name: string) => name.replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase());
const lowerFirst = (name: string) => name[0]!.toLowerCase() + name.slice(1);

/** What it answers with is not looked at: what came of it is read from the tables. */
export async function call(
  { run, session, api }: Turn,
  name: string,
  given: Fields,
): Promise<Answer<{ rows: Json[] }>> {
  const { gateway, apis } = run;
  if (api === apis.graphql) {
    const mutation = pascal(mutations[name] ?? name);
    const field = lowerFirst(mutation);
    if (ofAdministrators.has(name)) {
      const query = `mutation { admin { ${field}(${argumentsIn(given)}) { __typename } } }`;
      return askGraphql(gateway)(session, query, {}, () => ({ rows: [] }));
    }
    const query = `mutation ($input: ${mutation}Input!) { ${field}(input: $input) { clientMutationId } }`;
    return askGraphql(gateway)(session, query, { input: camel(given) }, () => ({ rows: [] }));
  }
  if (api === apis.mcp && tools.has(name))
    return askMcp(gateway)(session, name, given, (result) => ({ rows: [result] }));
  const named = Object.keys(given).map((parameter, place) => `${parameter} => $${place + 1}`);
  const values = Object.entries(given).map(([parameter, value]) =>
    jsonParameters.has(parameter) ? JSON.stringify(value) : value,
  );
  return statement(gateway, session, `select to_jsonb(r) as answer from public.${name}(${named}) r`, values);
}

/** A question that is answered with a JSON of the same names through every API. */
export async function question(
  turn: Turn,
  name: string,
  given: Fields,
  fields: string,
): Promise<Answer<{ answers: Json[] }>> {
  const { run, session, api } = turn;
  if (api === run.apis.graphql) {
    const field = lowerFirst(pascal(name));
    return askGraphql(run.gateway)(session, `{ ${field}(${argumentsIn(given)}) { ${fields} } }`, {}, (data) => ({
      answers: [data[field]].flat(),
    }));
  }
  const answer = await call(turn, name, given);
  if (answer.code !== null) return answer;
  const rows = answer.rows.flatMap((row) => row.answer ?? row.facts ?? row);
  return { code: null, answers: rows };
}

/** What was saved on the way: memories that the model does not know yet. */
export const madeOnTheWay = ({
  gateway,
  world,
}: Run): Promise<{ id: string; content: string; scope: string; project: string | null; branch: string | null }[]> =>
  gateway.asSuperuser(
    `select packet_id as id, envelope ->> 'content' as content, scope, project_id as project, branch
     from public.packet_store where packet_id <> all ($1)`,
    [[...world.memories.keys()]],
  );
