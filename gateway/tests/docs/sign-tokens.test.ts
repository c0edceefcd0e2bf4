// docs/how-to/sign-tokens-in-your-backend.md: its code signs the tokens of two users, who then see nothing of each other.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { decodeJwt } from 'jose';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { itOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { tokenVerifier } from '../../src/auth/jwt.ts';
import { loadConfig } from '../../src/config/config.ts';
import { cheapEmbedder } from '../access/attacker.ts';
import { sessionOf } from '../archive/support.ts';
import { useTestGateway } from '../support/gateway.ts';
import { describeWithPython, runPython } from '../support/python.ts';
import { runBlocks } from './blocks.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const page = readFileSync(join(root, 'docs', 'how-to', 'sign-tokens-in-your-backend.md'), 'utf8');
const blocksOf = (language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(([, code]) => code!);
const [withSecret, withKeys] = blocksOf('js') as [string, string];
const [python] = blocksOf('python') as [string];
const [annSaves] = blocksOf('graphql') as [string];

const SECRET = 'a-secret-of-the-tests-that-is-long-enough-0123456789';
const [ann, ben] = [randomUUID(), randomUUID()];
const [unknown, unknownAccess] = [randomUUID(), randomUUID()];

/** Runs an example for Node, and gives the tokens that it signs for these users. It may run on; `program` ends it. */
async function signedByNode(code: string, users: string[], env: NodeJS.ProcessEnv) {
  const program: ChildProcess = spawn(process.execPath, ['--input-type=module', '-', ...users], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  program.stdin!.end(`${code}\nfor (const user of process.argv.slice(2)) console.log(await tokenFor(user));\n`);
  const tokens: string[] = [];
  for await (const line of createInterface({ input: program.stdout! })) {
    tokens.push(line);
    if (tokens.length === users.length) break;
  }
  return { tokens, program };
}

const admit = (identity: object) => identity;

/** The names of all lists that GraphQL counts. */
const connections = [
  ...readFileSync(join(root, 'gateway', 'schema.graphql'), 'utf8')
    .match(/^type Query [\s\S]*?^\}/m)![0]
    .matchAll(/^ {2}(\w+)\((?:[^()]*|[^()]*\([^()]*\)[^()]*)\): \w+Connection$/gm),
].map(([, name]) => name!);

describe('a token that a backend signs for a user', () => {
  const gateway = useTestGateway({ embedder: cheapEmbedder, env: { JWT_SECRET: SECRET } });
  const clients: Client[] = [];
  let annToken: string;
  let benToken: string;
  let nobodyToken: string;
  beforeAll(async () => {
    await runBlocks(gateway, page);
    const { tokens } = await signedByNode(withSecret, [ann, ben], { JWT_SECRET: SECRET });
    [annToken, benToken] = tokens as [string, string];
    nobodyToken = await gateway.token({ caller: 'shop', projects: ['shop'] });
    // The gateway learns of the actor by a notification.
    await eventually(async () => (await gateway.graphql({ token: nobodyToken }, '{ __typename }')).status === 200);
  });
  afterAll(() => Promise.all(clients.map((client) => client.close())));

  const ask = async (token: string, query: string, variables: object = {}) => {
    const { data, errors } = await gateway.graphql({ token }, query, variables);
    if (errors) throw new Error(JSON.stringify(errors));
    return data;
  };
  const mcp = async (token: string) => {
    const client = new Client({ name: 'test', version: '1' });
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    const url = new URL(`${gateway.instance.url}/mcp?tools=all`);
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit }) as never);
    clients.push(client);
    return async (name: string, args: object = {}) =>
      (await client.callTool({ name, arguments: args as Record<string, unknown> })) as CallToolResult;
  };

  // Ids of single calls, times, and scores that a second changes.
  const steady = (value: unknown): unknown =>
    JSON.parse(JSON.stringify(value), (key, one) =>
      /^(access_?id|as_?of|score|importance)$/i.test(key) ? undefined : typeof one === 'number' ? +one.toFixed(3) : one,
    );

  /** Everything that a user is told without naming an id: lists with their counts, searches, statistics, over every API. */
  async function toldTo(token: string) {
    const call = await mcp(token);
    const lists = connections.filter((name) => name !== 'memoryAccesses');
    const counts = await ask(token, `{ ${lists.map((name) => `${name}(first: 1) { totalCount }`).join(' ')} }`);
    const read = await ask(
      token,
      `{
        memories(first: 1000) { totalCount nodes { packetId content } }
        words: searchMemory(query: "parcels Linden Lane", mode: lexical, k: 100) {
          hits { content snippet relevance lexicalScore } nearest { snippet } searched { candidates leftOut notice scopes }
        }
        both: searchMemory(query: "where do parcels go?", k: 100) { hits { content } nearest { snippet } searched { candidates } }
        newest: searchMemory(k: 100, kinds: ["preference", "todo", "fact", "lesson", "session"]) { hits { content } searched { candidates } }
        memoryFind(query: "parcel", k: 100) { hits { title fields } suggestions { value hits } searched { candidates } }
        getMemoryStats { total byKind byCreator byScope byProject embedded awaitingEmbedding }
        findFacts(subject: "Ann") { subject object }
        exploreGraph(entity: "Ann") { paths { entity } }
        getWorldModel(projectId: "shop") { entities { entityId attributes } }
        recallLessons(query: "parcels") { lessons { content } }
        queryCascadeMemories(query: "parcels") { pointer }
        memoryDays(since: "2026-01-01T00:00:00Z") { memories }
        whoAmI { userId caller readableScopes writableScopes }
      }`,
    );
    const tools: unknown[] = [];
    for (const [name, args] of [
      ['search_memory', { query: 'parcels Linden Lane', k: 100 }],
      ['search_memory', { query: 'Ann', mode: 'graph' }],
      ['memory_find', { query: 'parcels' }],
      ['get_memory_stats', {}],
      ['find_facts', { subject: 'Ann' }],
      ['explore_graph', { entity: 'Ann' }],
      ['recall_lessons', { query: 'parcels' }],
      ['get_world_model', { project_id: 'shop' }],
      ['summarize', {}],
      ['query_cascade_memories', { query: 'parcels' }],
    ] as const) {
      const { structuredContent, isError } = await call(name, args);
      tools.push({ name, isError, structuredContent });
    }
    return steady({ counts, read, tools });
  }

  let annsId: string;
  let annsPointer: string;
  let annsAccess: string;

  it('is that of the page, with the claims that it lists', () => {
    expect(decodeJwt(annToken)).toMatchObject({ caller: 'shop', user_id: ann, iss: 'l9-memory', aud: 'l9-memory' });
    const { exp, iat } = decodeJwt(annToken);
    expect(exp! - iat!).toBe(600);
    expect(connections.length).toBeGreaterThan(25);
  });

  it('tells a user the same before and after another one has memories, over every API', async () => {
    await ask(benToken, annSaves.replace('Linden Lane 5', 'Harbour Street 9'));
    await gateway.embedded();
    const before = await toldTo(benToken);

    const saved = await ask(annToken, annSaves);
    expect(saved.saveMemory).toMatchObject({ status: 'inserted', memory: { userId: ann, projectId: 'shop' } });
    const session = { ...sessionOf('parcels'), summary: 'Looked for the parcels of Ann' };
    const more = await ask(
      annToken,
      `mutation ($session: JSON!, $insight: JSON!) {
        memoryStore(input: { items: [{ kind: "todo", data: { text: "Send a parcel to Linden Lane", status: "open" } }] }) { errors { message } }
        assertFact(input: { subject: "Ann", predicate: "lives in", object: "Linden Lane" }) { fact { factId } }
        relate(input: { source: "Ann", type: "lives_with", target: "Carl" }) { relationship { relationshipId } }
        reflect(input: { content: "Parcels to Linden Lane need a second try." }) { __typename }
        updateWorldModel(input: { insight: $insight, projectId: "shop" }) { __typename }
        storeSessionToCascade(input: { session: $session }) { pointer }
      }`,
      {
        session,
        insight: {
          insight_type: 'observation',
          content: 'seen',
          entities: [{ entity_id: 'Ann', attributes: { parcels: 3 } }],
        },
      },
    );
    expect(more.memoryStore.errors).toStrictEqual([]);
    await gateway.embedded();
    expect(await toldTo(benToken)).toStrictEqual(before);

    const own = await ask(
      annToken,
      '{ memories { totalCount nodes { packetId content } } searchMemory(query: "Linden Lane") { hits { accessId content } } }',
    );
    expect(own.memories.totalCount).toBeGreaterThan(5);
    annsId = own.memories.nodes.find(({ content }: { content: string }) => content.includes('my parcels')).packetId;
    annsPointer = more.storeSessionToCascade.pointer;
    annsAccess = own.searchMemory.hits[0].accessId;
  });

  it('answers for the ids of another user as for ids that are not there', async () => {
    const call = await mcp(benToken);
    const answersFor = async (id: string, pointer: string, access: string) => {
      const answers: unknown[] = [];
      for (const field of [
        `memoryByPacketId(packetId: "${id}") { content }`,
        `getMemory(packetId: "${id}") { content }`,
        `memoryHistory(packetId: "${id}") { changedBy: __typename }`,
        `searchMemory(packetId: "${id}") { hits { content } }`,
        `retrieveSessionFromCascade(pointer: "${pointer}") { __typename }`,
      ])
        answers.push(await gateway.graphql({ token: benToken }, `{ ${field} }`));
      for (const field of [
        `updateMemory(input: { packetId: "${id}", content: "mine" }) { status }`,
        `deleteMemory(input: { packetId: "${id}" }) { status }`,
        `saveMemory(input: { content: "a child", parentIds: ["${id}"] }) { status }`,
        `memoryStore(input: { items: [{ data: { content: "cites" }, citations: ["${id}"] }], allOrNothing: true }) { errors { code message } }`,
        `relate(input: { source: "a", type: "b", target: "c", sourcePacket: "${id}" }) { __typename }`,
        `recordFeedback(input: { accessId: "${access}", wasUseful: true }) { __typename }`,
      ])
        answers.push(await gateway.graphql({ token: benToken }, `mutation { ${field} }`));
      for (const [name, args] of [
        ['get_memory', { packet_id: id }],
        ['update_memory', { packet_id: id, content: 'mine' }],
        ['delete_memory', { packet_id: id }],
        ['retrieve_session_from_cascade', { pointer }],
      ] as const)
        answers.push(await call(name, args));
      for (const path of ['archives/export', 'archives/import', 'metrics']) {
        const response = await fetch(`${gateway.instance.url}/${path}`, {
          headers: { authorization: `Bearer ${benToken}`, 'content-type': 'application/json' },
          ...(path === 'metrics' ? {} : { method: 'POST', body: JSON.stringify({ pointer, archive_id: id }) }),
        });
        expect([400, 401, 403, 404]).toContain(response.status);
        answers.push([path, response.status, await response.text()]);
      }
      const named = JSON.stringify(answers)
        .replaceAll(id, 'ID')
        .replaceAll(pointer, 'POINTER')
        .replaceAll(access, 'ACCESS');
      return JSON.parse(named);
    };
    expect(await answersFor(annsId, annsPointer, annsAccess)).toStrictEqual(
      await answersFor(unknown, `cascade://${'0'.repeat(64)}`, unknownAccess),
    );
    const [{ count }] = await gateway.asSuperuser('select count(*)::int from packet_store where packet_id = $1', [
      annsId,
    ]);
    expect(count).toBe(1);
  });

  it('gives each user a memory of the same text, and shows all users what the application saved without one', async () => {
    const save = async (token: string) => (await ask(token, annSaves)).saveMemory.status;
    expect([await save(annToken), await save(benToken), await save(nobodyToken)]).toStrictEqual([
      'skipped_dedupe',
      'inserted',
      'inserted',
    ]);
    const count = async (token: string) =>
      (
        await ask(token, '{ memories(filter: { kind: { equalTo: "preference" } }) { nodes { userId } } }')
      ).memories.nodes
        .map(({ userId }: { userId: string | null }) => userId)
        .sort();
    expect(await count(nobodyToken)).toStrictEqual([null]);
    expect(await count(annToken)).toStrictEqual([ann, null]);
    expect(await count(benToken)).toStrictEqual([ben, ben, null]);
    expect((await count(await gateway.token({ caller: 'L' }))).length).toBe(4);
  });

  it('ends at once for a user that is deactivated', async () => {
    await gateway.query('L', 'mutation ($id: UUID) { admin { createUser(name: "Ben", userId: $id) { name } } }', {
      id: ben,
    });
    expect((await gateway.graphql({ token: benToken }, '{ whoAmI { userId } }')).status).toBe(200);
    await gateway.query('L', 'mutation ($id: UUID) { admin { deactivateUser(userId: $id) { isActive } } }', {
      id: ben,
    });
    expect((await gateway.graphql({ token: benToken }, '{ whoAmI { userId } }')).status).toBe(401);
    expect((await gateway.graphql({ token: annToken }, '{ whoAmI { userId } }')).status).toBe(200);
  });

  describeWithPython('signed in Python', () => {
    it('says the same as that of Node', async () => {
      const token = (
        await runPython(['-', ann], { JWT_SECRET: SECRET }, `${python}\nimport sys\nprint(token_for(sys.argv[1]))\n`)
      ).trim();
      const { iat: _iat, exp: _exp, ...claims } = decodeJwt(token);
      const { iat: _when, exp: _until, ...expected } = decodeJwt(annToken);
      expect(claims).toStrictEqual(expected);
      expect((await ask(token, '{ whoAmI { caller userId } }')).whoAmI).toStrictEqual({ caller: 'shop', userId: ann });
    });
  });

  itOnEmbedded('is verified by public keys where JWKS_URL is set', async () => {
    const probe = createServer().listen(0, '127.0.0.1');
    await once(probe, 'listening');
    const { port } = probe.address() as AddressInfo;
    probe.close();
    await once(probe, 'close');
    const { tokens, program } = await signedByNode(withKeys, [ann, ben], { PORT: String(port) });
    try {
      const config = loadConfig({ JWKS_URL: `http://127.0.0.1:${port}/` });
      // The gateway's own directory says whether the caller is known, whoever signed.
      const verify = tokenVerifier(config, () => ({ jwtSecret: SECRET, jwtSecrets: {} }), { admit } as never);
      expect((await Promise.all(tokens.map(verify))).map(({ userId }) => userId)).toStrictEqual([ann, ben]);
      await expect(verify(annToken)).rejects.toThrow('algorithm');
    } finally {
      program.kill();
    }
  });
});
