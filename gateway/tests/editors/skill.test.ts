// The skill, measured on ten transcripts: a stand-in for a model that knows nothing but the text of the skill chooses tools and arguments by
// its rules, and calls them through a real client of MCP. A tool, kind or field that the text names and the server does not have fails.
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { SKILL } from '../../src/editors/skill.ts';
import { useTestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

type Fields = Record<string, unknown>;

/** What happens in a session. */
type Turn =
  /** The user gives a task. */
  | { task: string }
  /** The agent would otherwise ask or guess something. */
  | { unsure: string }
  /** Something with a kind or an identifier is looked for. */
  | { lookUp: string; kinds: string[] }
  /** Something to keep came up: a row of the table in the skill, its text, and what is known of it by the names of fields. */
  | { keep: string; text: string; known?: Fields }
  /** What was recalled helped, or misled. */
  | { helped: boolean }
  /** A memory of its own, the last one, is out of date. */
  | { correct: string }
  /** The todo that was stored last is done. */
  | { done: true }
  /** Something came up that must never be saved. */
  | { secret: string };

const TRANSCRIPTS: Record<string, Turn[]> = {
  'a decision is made': [
    { task: 'move the sessions out of the database' },
    {
      keep: 'a decision',
      text: 'Sessions live in Redis',
      known: { status: 'accepted', rationale: 'The database was busy with them.', alternatives: 'Memcached' },
    },
  ],
  'the user states a preference': [
    { task: 'format the code' },
    { keep: 'a rule or preference', text: 'Ann wants tabs, not spaces, in all files of this project.' },
  ],
  'work is left over and done later': [
    { task: 'upgrade the driver' },
    { keep: 'work that is left over', text: 'Remove the old driver from the image.', known: { status: 'open' } },
    { done: true },
  ],
  'a bug is found': [
    { unsure: 'why does the export end early' },
    {
      keep: 'a cause and its fix',
      text: 'The export ended early because the proxy closes after 60 s; set proxy_read_timeout.',
    },
  ],
  'a procedure is written down': [
    { lookUp: 'how to restore the staging database', kinds: ['runbook'] },
    {
      keep: 'how something is run',
      text: 'Restore staging',
      known: {
        service: 'staging',
        steps: [{ description: 'Stop the server.' }, { description: 'Restore it.', command: 'l9-memory restore' }],
      },
    },
  ],
  'a fact of the world is learned': [
    { unsure: 'which port does the staging proxy use' },
    { keep: 'something true of the world', text: 'The staging proxy listens on port 8443.' },
    { helped: true },
  ],
  'an open todo is looked for': [{ lookUp: 'open todos about the driver', kinds: ['todo'] }, { helped: false }],
  'a memory is corrected': [
    { keep: 'anything else', text: 'The canary goes to Frankfurt first.' },
    { correct: 'The canary goes to Dublin first, since November 2026.' },
  ],
  'a secret is said': [
    { task: 'rotate the deploy key' },
    { secret: 'the key is AKIAQYLPMN5HFIQR7XYA' },
    { keep: 'something true of the world', text: 'The deploy key is kept in the vault under ci/deploy.' },
  ],
  'nothing is known of it': [
    { task: 'paint the shed at the lighthouse' },
    { unsure: 'which colour does the shed have' },
    { keep: 'anything else', text: 'The shed at the lighthouse is painted white each spring.' },
  ],
};

/** The rows of the table in the skill, by what they are about. */
const TABLE = [...SKILL.matchAll(/^\| (.+?) \| (.+?) \|$/gm)].flatMap(([, what, how]) =>
  what === 'what' || /^-+$/.test(what!) ? [] : [{ what: what!, how: how! }],
);
/** The line of the skill that begins so. */
const line = (begin: string) => {
  const found = SKILL.split('\n').find((one) => one.startsWith(begin));
  if (!found) throw new Error(`the skill says nothing that begins with "${begin}"`);
  return found;
};
const named = (text: string) => [...text.matchAll(/`([a-z_]+)`/g)].map(([, name]) => name!);

interface Call {
  tool: string;
  args: Fields;
}

/** What the skill says about a turn, as calls. `last` is what the session has seen so far. */
function callsFor(turn: Turn, last: { accessId?: string; saved?: { id: string; item: Fields } }): Call[] {
  if ('task' in turn) {
    const [lessons, search] = named(line('- Before a task:'));
    return [lessons!, search!].map((tool) => ({ tool, args: { query: turn.task } }));
  }
  if ('unsure' in turn) return [{ tool: named(line('- Before a task:'))[1]!, args: { query: turn.unsure } }];
  if ('lookUp' in turn)
    return [{ tool: named(line('- For what has a kind'))[0]!, args: { query: turn.lookUp, kinds: turn.kinds } }];
  if ('helped' in turn) {
    const [tool, id] = named(line('- When a memory helped'));
    return last.accessId ? [{ tool: tool!, args: { [id!]: last.accessId, was_useful: turn.helped } }] : [];
  }
  if ('correct' in turn) {
    const tool = named(line('- `skipped_dedupe`')).find((name) => name.startsWith('update'))!;
    return [{ tool, args: { packet_id: last.saved!.id, content: turn.correct } }];
  }
  if ('done' in turn) {
    const [status] = named(line('- When a todo is done'));
    const { item } = last.saved!;
    const fields = { ...(item[inItem()] as Fields), status };
    return [{ tool: storeOf('work that is left over').tool, args: { items: [{ ...item, [inItem()]: fields }] } }];
  }
  // "Never save": where it is kept may be saved, the secret itself not.
  if ('secret' in turn) return [];
  const { tool, kind, fields, takesItems } = storeOf(turn.keep);
  if (!takesItems) return [{ tool, args: { content: turn.text, ...(kind && { kind }) } }];
  const [main, ...others] = fields;
  const known = Object.fromEntries(others.flatMap((name) => (turn.known?.[name] ? [[name, turn.known[name]]] : [])));
  return [{ tool, args: { items: [{ kind, [inItem()]: { [main!]: turn.text, ...known } }] } }];
}

/** Where the fields of a kind go. */
const inItem = () => named(line('- The fields of a kind'))[0]!;

/** A row such as "`memory_store`, kind `todo`: text, status `open`". */
function storeOf(what: string) {
  const { how } = TABLE.find((row) => row.what.startsWith(what))!;
  const [, tool] = /`(\w+)`/.exec(how)!;
  const kind = /kind `(\w+)`/.exec(how)?.[1];
  const fields = (/: (.+)$/.exec(how)?.[1] ?? '').split(', ').map((field) => field.split(' ')[0]!);
  return { tool: tool!, kind, fields, takesItems: tool === 'memory_store' };
}

describeOnEmbedded('the skill', () => {
  // On a busy machine a first call takes longer than one in a session may.
  const gateway = useTestGateway({ embedder: standIn, env: { DATABASE_QUEUE_TIMEOUT_MS: '60000' } });
  let client: Client;
  let tools: Map<string, Tool>;
  beforeAll(async () => {
    client = await gateway.mcp('C');
    tools = new Map((await client.listTools()).tools.map((tool) => [tool.name, tool]));
  });

  it('names only tools that every agent is offered', () => {
    const meant = named(SKILL).filter((name) => /^(save|search|memory|recall|record|update|reflect)/.test(name));
    expect(meant.length).toBeGreaterThanOrEqual(7);
    for (const name of meant) expect([...tools.keys()], name).toContain(name);
  });

  it('has ten transcripts, and a row of its table for all that they keep', () => {
    expect(Object.keys(TRANSCRIPTS)).toHaveLength(10);
    const kept = Object.values(TRANSCRIPTS).flatMap((turns) =>
      turns.flatMap((turn) => ('keep' in turn ? [turn.keep] : [])),
    );
    for (const { what } of TABLE)
      expect(
        kept.some((keep) => what.startsWith(keep)),
        what,
      ).toBe(true);
  });

  it.each(Object.entries(TRANSCRIPTS))('leads to valid calls alone where %s', async (_, turns) => {
    const last: Parameters<typeof callsFor>[1] = {};
    let count = 0;
    for (const turn of turns) {
      for (const { tool, args } of callsFor(turn, last)) {
        const project = 'helped' in turn || 'correct' in turn || 'items' in args ? {} : { project_id: 'site' };
        const items = (args.items as Fields[] | undefined)?.map((item) => ({ ...item, project_id: 'site' }));
        const given = { ...args, ...project, ...(items && { items }) };
        const answer = (await client.callTool({ name: tool, arguments: given })) as CallToolResult;
        const text = JSON.stringify(answer.content);
        expect(answer.isError ?? false, `${tool} ${JSON.stringify(given)}: ${text}`).toBe(false);
        expect(tools.get(tool), tool).toBeDefined();
        count += 1;
        // biome-ignore lint/suspicious/noExplicitAny: results differ by tool
        const result = answer.structuredContent as any;
        expect(result.errors ?? [], text).toStrictEqual([]);
        last.accessId = result.hits?.[0]?.access_id ?? result.nearest?.[0]?.access_id ?? last.accessId;
        const stored = result.memory ?? result.stored?.[0]?.memory ?? result.stored?.[0];
        if (stored?.packet_id) last.saved = { id: stored.packet_id, item: (args.items as Fields[])?.[0] ?? args };
      }
    }
    expect(count).toBeGreaterThanOrEqual(1);
  });

  it('leaves nothing of what must never be saved', async () => {
    const { hits } = await gateway.call('L', 'search_memory', {
      query: 'AKIAQYLPMN5HFIQR7XYA',
      mode: 'lexical',
      project_id: '*',
    });
    expect(hits).toStrictEqual([]);
  });
});
