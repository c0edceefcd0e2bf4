// The access matrix, cell by cell, through every API. A cell is a caller, an operation, a scope and an author.
import { serverUrl } from '../../../db/tests/support/engine.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { type Api, accepted, apisOf, isRefused } from './apis.ts';

const callers = ['C', 'L'] as const;
const scopes = ['developer', 'l-private', 'global'] as const;
type Caller = (typeof callers)[number];
type Scope = (typeof scopes)[number];

const projectOf = (scope: Scope) => (scope === 'global' ? {} : { project: 'l9' });
const yes = 'yes';

/** What is answered: yes, or the error. */
const matrix = {
  write: {
    C: { developer: yes, 'l-private': 'L9SCP', global: yes },
    L: { developer: yes, 'l-private': yes, global: yes },
  },
  read: {
    C: { developer: yes, 'l-private': 'L9OWN', global: yes },
    L: { developer: yes, 'l-private': yes, global: yes },
  },
  // One memory that the caller wrote itself, and one that another wrote.
  changeOwn: {
    C: { developer: yes, 'l-private': 'nothing of its own there', global: yes },
    L: { developer: yes, 'l-private': yes, global: yes },
  },
  changeOthers: {
    C: { developer: 'L9OWN', 'l-private': 'L9OWN', global: 'L9OWN' },
    L: { developer: yes, 'l-private': 'nothing of others there', global: yes },
  },
  cleanUp: { C: 'L9SCP', L: yes },
} as const;

const words = [
  'amber',
  'basalt',
  'cobalt',
  'dolomite',
  'emerald',
  'feldspar',
  'garnet',
  'hematite',
  'indigo',
  'jasper',
];
let count = 0;
/** A content that no other test has, with a word that all of them have. */
const fresh = (what: string) => `memory ${words[count % words.length]} number ${count++}: ${what}`;

/** The agents that stand in the place of C, by their creators. The rules are the same on both engines. */
const agents = {
  C: 'Cursor-IDE',
  ...(serverUrl ? {} : { 'claude-code': 'Claude-Code' }),
};

/** Registers the agent as `l9-memory install` does, and lets it make the calls of C. */
async function putInPlaceOfC(gateway: TestGateway, agent: string, creator: string): Promise<void> {
  const { apiKey, token, sql } = gateway;
  await sql('L', 'select public.register_actor($1, creator => $2)', [agent, creator]);
  const [{ key }] = await sql('L', "select (public.create_api_key('of an editor', $1)).api_key as key", [agent]);
  const named = (caller: string) => (caller === 'C' ? agent : caller);
  Object.assign(gateway, {
    apiKey: (caller: string) => (caller === 'C' ? key : apiKey(caller)),
    token: (request: Parameters<typeof token>[0]) => token({ ...request, caller: named(request.caller) }),
    sql: (caller: string, ...rest: [string]) => sql(named(caller), ...rest),
  });
}

describe.each(Object.entries(agents))('the access matrix with the agent %s', (agent, creatorOfAgent) => {
  let gateway: TestGateway;
  let apis: Api[];
  beforeAll(async () => {
    gateway = await startTestGateway();
    if (agent !== 'C') await putInPlaceOfC(gateway, agent, creatorOfAgent);
    apis = apisOf(gateway);
  });
  afterAll(() => gateway.close());

  const seed = async (author: Caller, scope: Scope) => {
    const saved = await apis[0]!.save(author, { content: fresh(`${author} in ${scope}`), scope, ...projectOf(scope) });
    return accepted(saved).id;
  };
  const contentOf = async (id: string) =>
    (await gateway.sql('L', 'select content from public.packet_store where packet_id = $1', [id]))[0]?.content;
  const outcome = (answer: object) => (isRefused(answer) ? answer.code : yes);

  for (const apiName of ['GraphQL', 'MCP', 'SQL functions', 'SQL tables']) {
    const api = () => apis.find(({ name }) => name === apiName)!;

    describe(`over ${apiName}`, () => {
      for (const caller of callers) {
        for (const scope of scopes) {
          it(`answers ${matrix.write[caller][scope]} when ${caller} writes ${scope}`, async () => {
            const content = fresh(`written through ${apiName}`);
            const answer = await api().save(caller, { content, scope, ...projectOf(scope) });
            expect(outcome(answer)).toBe(matrix.write[caller][scope]);
            const [row] = await gateway.sql(
              'L',
              "select scope, metadata ->> 'creator' as creator from public.packet_store where content = $1",
              [content],
            );
            if (isRefused(answer)) expect(row, 'nothing may be written').toBeUndefined();
            else expect(row).toStrictEqual({ scope, creator: caller === 'C' ? creatorOfAgent : 'L-CTO' });
          });

          it(`answers ${matrix.read[caller][scope]} when ${caller} reads ${scope} by id`, async () => {
            const id = await seed('L', scope);
            expect(outcome(await api().read(caller, id))).toBe(matrix.read[caller][scope]);
          });

          it(`${matrix.read[caller][scope] === yes ? 'includes' : 'leaves out'} ${scope} in every search, list and count of ${caller}`, async () => {
            const id = await seed('L', scope);
            const content = await contentOf(id);
            await gateway.embedded();
            const seen = matrix.read[caller][scope] === yes;
            for (const mode of ['hybrid', 'lexical', 'semantic']) {
              expect((await api().search(caller, content, mode)).includes(id), mode).toBe(seen);
            }
            expect((await api().list(caller)).includes(id), 'list').toBe(seen);
            const stats = await api().statsByScope(caller);
            const [{ n }] = await gateway.sql(
              'L',
              'select count(*)::int as n from public.packet_store where scope = $1',
              [scope],
            );
            expect(stats[scope], 'stats').toBe(seen ? n : undefined);
          });

          for (const author of ['C', 'L'] as const) {
            const cell = author === caller ? matrix.changeOwn[caller][scope] : matrix.changeOthers[caller][scope];
            if (cell.startsWith('nothing')) continue; // C can't have written there.
            it(`answers ${cell} when ${caller} updates and deletes what ${author} wrote in ${scope}`, async () => {
              const id = await seed(author, scope);
              const was = await contentOf(id);
              const changed = fresh('changed');
              expect(outcome(await api().update(caller, id, changed))).toBe(cell);
              expect(await contentOf(id)).toBe(cell === yes ? changed : was);
              expect(outcome(await api().remove(caller, id))).toBe(cell);
              expect(await contentOf(id)).toBe(cell === yes ? undefined : was);
            });
          }
        }

        it(`answers ${matrix.cleanUp[caller]} when ${caller} deletes expired memories`, async () => {
          const content = fresh('soon gone');
          await gateway.sql(
            'L',
            "select public.save_memory($1, scope => 'global', ttl => clock_timestamp() + interval '40 milliseconds')",
            [content],
          );
          await new Promise((resolve) => setTimeout(resolve, 80));
          // Cleanup leaves for later what a job holds.
          await gateway.embedded();
          expect((await contentOf((await apis[0]!.list('L'))[0]!)) !== undefined).toBe(true);
          const answer = await api().cleanUp(caller);
          expect(outcome(answer)).toBe(matrix.cleanUp[caller]);
          const again = accepted(await api().cleanUp('L'));
          // Refused: it is still there for L to clean up. Done: nothing is left.
          expect(again.deleted).toBe(isRefused(answer) ? 1 : 0);
          if (!isRefused(answer)) expect(answer.deleted).toBe(1);
        });
      }

      it('answers the same to C for a private id and for one that does not exist', async () => {
        const hidden = await seed('L', 'l-private');
        const missing = '01900000-0000-7000-8000-000000000000';
        const say = async (id: string) => {
          const answers = [
            await api().read('C', id),
            await api().update('C', id, fresh('no')),
            await api().remove('C', id),
          ];
          return JSON.stringify(answers).replaceAll(id, '<id>');
        };
        expect(await say(hidden)).toBe(await say(missing));
      });
    });
  }
});
