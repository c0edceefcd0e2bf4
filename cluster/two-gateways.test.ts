// Two gateways on one database, behind PgBouncer, with a hundred clients each: what they have to do once, and what they share.
import { mixedClient, noCalls } from '../bench/support/mixed-load.ts';
import { eventually } from '../db/tests/support/eventually.ts';
import { startTestGateway, type TestGateway } from '../gateway/tests/support/gateway.ts';
import { createTestHome, type TestHome } from '../gateway/tests/support/home.ts';
import { standIn } from '../gateway/tests/support/stand-in.ts';

const CLIENTS = 100;
const SECONDS = Number(process.env.TWO_GATEWAYS_SECONDS ?? 10);
const SAVE = 'mutation ($content: String!) { saveMemory(input: { content: $content, scope: "global" }) { status } }';
const LIST = '{ memories(first: 1) { totalCount } }';

describe('two gateways on one database', () => {
  let home: TestHome;
  let gateways: TestGateway[] = [];
  const each = <T>(work: (gateway: TestGateway) => Promise<T>) => Promise.all(gateways.map(work));

  beforeAll(async () => {
    home = await createTestHome();
    const shared = { ...home, drop: async () => {} };
    for (let n = 0; n < 2; n++)
      gateways.push(await startTestGateway({ embedder: standIn, env: { RATE_LIMIT_STORE: 'database' }, home: shared }));
  });
  afterAll(async () => {
    await each((gateway) => gateway.close());
    gateways = [];
    await home.drop();
  });

  it('admit together as many calls as the limit of a caller says', async () => {
    const [one] = gateways;
    const minute = () => Math.floor(Date.now() / 60_000);
    // Again with another caller where the next minute began in between.
    const statuses = await eventually(async () => {
      const caller = `shared-${Math.random().toString(36).slice(2)}`;
      await one!.sql('L', 'select register_actor($1, writes_per_minute => 6)', [caller]);
      const token = await one!.token({ caller });
      await each((gateway) => eventually(async () => (await gateway.graphql({ token }, LIST)).status === 200));
      const began = minute();
      const sent = Array.from({ length: 12 }, (_, n) =>
        gateways[n % 2]!.graphql({ token }, SAVE, { content: `${caller} writes ${n}.` }),
      );
      const answers = await Promise.all(sent);
      return minute() === began && answers.map(({ status }) => status);
    });
    expect(statuses.filter((status) => status === 200)).toHaveLength(6);
    expect(statuses.filter((status) => status === 429)).toHaveLength(6);
  });

  it('learn of a key and of its end from each other', async () => {
    const [one, other] = gateways;
    const [made] = await one!.sql('L', "select api_key, key_id from create_api_key('shared by two', 'C')");
    const status = async (gateway: TestGateway) => {
      const response = await fetch(`${gateway.instance.url}/graphql`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-api-key': made.api_key,
          authorization: `Bearer ${made.api_key}`,
        },
        body: JSON.stringify({ query: LIST }),
      });
      return response.status;
    };
    await each((gateway) => eventually(async () => (await status(gateway)) === 200));
    await other!.sql('L', 'select revoke_api_key($1)', [made.key_id]);
    await each((gateway) => eventually(async () => (await status(gateway)) === 401));
  });

  it('answer a hundred clients each, embed each memory once, and seal each row once', async () => {
    const [one] = gateways;
    await one!.asSuperuser(`
      create table public.stored_vectors (packet_id uuid, embedding_type text, model text, chunk integer);
      create function public.note_vector() returns trigger language plpgsql security definer set search_path = '' as
        $$ begin
        insert into public.stored_vectors values
          (new.packet_id, new.embedding_type, new.model, new.chunk_index); return null; end $$;
      create trigger _999_note_vector after insert or update on public.memory_embeddings
        for each row execute function public.note_vector()`);
    const calls = noCalls();
    const clients = await Promise.all(
      gateways.flatMap((gateway) =>
        Array.from({ length: CLIENTS }, (_, n) =>
          mixedClient(
            {
              url: gateway.instance.url,
              tokenOf: (caller) => gateway.token({ caller }),
              apiKey: gateway.apiKey,
            },
            n % 2 ? 'L' : 'C',
          ),
        ),
      ),
    );
    const end = performance.now() + SECONDS * 1_000;
    let next = 0;
    await Promise.all(
      clients.map(async (client) => {
        while (performance.now() < end) await client.call(next++, calls);
      }),
    );
    for (const client of clients) client.close();
    process.stdout.write(
      `two gateways, ${CLIENTS} clients each, ${SECONDS} s: ${calls.ms.length} answers, ${calls.shed} shed by 429 or 503\n`,
    );
    expect([...calls.errors]).toStrictEqual([]);
    expect(calls.ms.length).toBeGreaterThan(0);

    await one!.embedded();
    const [vectors] = await one!.asSuperuser(
      `select count(*)::integer as written, count(distinct (packet_id, embedding_type, model, chunk))::integer as different,
         (select count(*)::integer from public.packet_store) as memories
       from public.stored_vectors`,
    );
    expect(vectors.memories).toBeGreaterThan(0);
    expect(vectors.written).toBe(vectors.different);

    const rows = await eventually(async () => {
      const [found] = await one!.asSuperuser(`
        select count(*)::integer as sealed, count(distinct id)::integer as different
        from public.audit_seals, unnest(audit_ids) as id
        having not audit.is_audit_unsealed()`);
      return found;
    });
    expect(rows.sealed).toBe(rows.different);
    const [verified] = await one!.asSuperuser('select v.* from public.verify_audit() v');
    expect(verified.ok, verified.reason).toBe(true);
  });
});
