// What was deleted leaves the indexes of words, and what was erased also leaves their files.
import { randomBytes } from 'node:crypto';
import pino from 'pino';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { itOnEmbedded, itOnServer } from '../../../db/tests/support/on-engine.ts';
import { tidyWords } from '../../src/jobs/tidy-words.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

/** A word of letters alone, which is indexed as it is. */
const newWord = () =>
  `zq${randomBytes(6)
    .toString('hex')
    .replace(/\d/g, (digit) => 'ghijklmnop'[Number(digit)]!)}zx`;

const logger = pino({ level: 'silent' });

describe('the job that tidies the indexes of words', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
  });
  afterAll(() => gateway.close());

  const isEmbedded = () => gateway.instance.database.engine === 'embedded';
  const pool = () => gateway.instance.database.jobPool('tidy_words');
  const isDue = () => tidyWords(isEmbedded()).isDue!(pool());
  const run = () => tidyWords(isEmbedded()).run(pool(), logger, new AbortController().signal);
  const save = async (content: string) => {
    const [{ id }] = await gateway.sql(
      'C',
      "select (memory).packet_id as id from public.save_memory($1, project_id => 'l9')",
      [content],
    );
    return id as string;
  };
  const indexOf = async (): Promise<string> => {
    const [{ name }] = await gateway.asSuperuser(
      "select 'public.packet_store_words_bm25_' || packets.tenant_bucket('00000000-0000-7000-8000-000000000001') as name",
    );
    return name;
  };
  /** The indexes of the database in whose files this word stands, or the hash that the indexes of words have in its place. */
  const filesWith = (word: string) =>
    gateway.inSuperuserSession(async (client) => {
      await client.query('checkpoint');
      const { rows } = await client.query(
        `select c.relname from pg_class c, pg_read_binary_file(pg_relation_filepath(c.oid), true) as bytes
         where c.relkind = 'i'
           and (position(convert_to($1, 'UTF8') in bytes) > 0
             or exists (
               select from unnest(to_tsvector('pg_catalog.english', $1)) w
               where position(convert_to(words.index_token(w.lexeme), 'UTF8') in bytes) > 0))`,
        [word],
      );
      return rows.map(({ relname }) => relname as string);
    });
  const spill = async () => gateway.asSuperuser('select bm25_spill_index($1)', [await indexOf()]);
  const documents = async () => {
    const [{ text }] = await gateway.asSuperuser('select bm25_summarize_index($1) as text', [await indexOf()]);
    return Number(/Total: .* (\d+) docs/.exec(text)?.[1] ?? 0);
  };
  const leftovers = async () =>
    (await gateway.asSuperuser("select relname from pg_class where relname like '%words\\_bm25%\\_cc%'")).length;

  for (const [place, prepare] of [
    ['a segment', spill],
    ['what is not in a segment yet', async () => {}],
  ] as const) {
    it(`leaves no word of an erased memory, nor of its earlier texts, from ${place} in the file of any index`, async () => {
      const [word, earlier] = [newWord(), newWord()];
      const id = await save(`Its earlier text tells of ${earlier}.`);
      await prepare();
      await gateway.sql('C', 'select public.update_memory($1, content => $2)', [id, `It tells of ${word}.`]);
      const kept = await save(`What stays near it ${randomBytes(4).toString('hex')}`);
      await prepare();
      const name = (await indexOf()).replace('public.', '');
      expect(await filesWith(word)).toContain(name);
      await gateway.sql('L', 'select public.erase_memory($1, $2)', [id, 'a test']);
      expect(await filesWith(word), 'an erasure alone leaves it').toContain(name);
      expect(await isDue()).toBe(true);
      await run();
      expect([...(await filesWith(word)), ...(await filesWith(earlier))]).toStrictEqual([]);
      expect(await isDue()).toBe(false);
      expect(await leftovers()).toBe(0);
      const [{ found }] = await gateway.sql(
        'C',
        `select array(select h.packet_id from unnest(s.hits) h) as found
         from public.search_memory('stays near', mode => 'lexical') s`,
      );
      expect(found).toContain(kept);
    });
  }

  itOnEmbedded('has a segment without deleted memories, though no autovacuum runs', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 100; n++)
      ids.push(await save(`Memory ${n} of those that go ${randomBytes(8).toString('hex')}`));
    await spill();
    const before = await documents();
    expect(before).toBeGreaterThanOrEqual(100);
    for (const id of ids) await gateway.sql('C', 'select public.delete_memory($1)', [id]);
    await eventually(isDue);
    await run();
    expect(await documents()).toBeLessThanOrEqual(before - 100);
    expect(await isDue()).toBe(false);
  });

  // VACUUM tidies smaller segments itself.
  itOnServer('compacts a large segment that is mostly of deleted memories', async () => {
    await gateway.inSuperuserSession(async (client) => {
      await client.query('set session_replication_role = replica');
      await client.query(
        `insert into public.packet_store
           (envelope, scope, project_id, content_hash, identity_hash, tenant_id, "timestamp", language, words)
         select '{"content": "many"}', 'developer', 'many', h.hash, h.hash, '00000000-0000-7000-8000-000000000001', now(), 'english',
           to_tsvector('pg_catalog.simple', format('many word%s other%s', n, n % 100))
         from generate_series(1, 30000) n, sha256(n::text::bytea) as h (hash)`,
      );
    });
    await spill();
    const before = await documents();
    await gateway.inSuperuserSession(async (client) => {
      await client.query('set session_replication_role = replica');
      await client.query(
        "delete from public.packet_store where project_id = 'many' and get_byte(content_hash, 0) > 20",
      );
    });
    await gateway.inSuperuserSession((client) => client.query('vacuum public.packet_store'));
    expect(await isDue()).toBe(true);
    await run();
    expect(await documents()).toBeLessThan(before / 5);
    expect(await isDue()).toBe(false);
  });

  it('rebuilds again where an erasure came during the rebuild, and after a failure', async () => {
    const erase = async () =>
      gateway.sql('L', 'select public.erase_memory($1, $2)', [
        await save(`gone ${randomBytes(8).toString('hex')}`),
        'x',
      ]);
    const ask = async (sql: string, values: unknown[] = []) => (await pool().query(sql, values)).rows;
    const lease = () => ask("select * from forgetting.lease_rebuild('1 hour')");
    await erase();
    const [leased] = await lease();
    expect(await lease(), 'no other gateway rebuilds it meanwhile').toStrictEqual([]);
    await erase();
    await ask('select forgetting.release_rebuild($1, $2)', [leased.bucket, leased.erasures]);
    const [again] = await lease();
    expect(again.erasures).not.toBe(leased.erasures);
    await ask('select forgetting.release_rebuild($1, null)', [again.bucket]);
    expect(await isDue()).toBe(true);
    // What REINDEX CONCURRENTLY leaves when it is interrupted.
    await gateway.asSuperuser(
      `create index ${(await indexOf()).replace('public.', '')}_ccnew on public.packet_store (packet_id);
       update pg_catalog.pg_index set indisvalid = false where indexrelid = '${await indexOf()}_ccnew'::regclass;`,
    );
    await run();
    expect(await leftovers()).toBe(0);
    expect(await isDue()).toBe(false);
  });
});
