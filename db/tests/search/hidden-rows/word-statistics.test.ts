// What a session of an agent with its own SQL can learn about words of memories that it can't read.
import { attempt } from '../../support/attacker.ts';
import { seeded, UNSEEN } from './texts.ts';
import { openWorld, saveAll, type World } from './world.ts';

const CALLERS = ['l9_agent', 'l9_admin', 'l9_platform_admin'];

describe('the frequency of a word', () => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld(seeded(1));
    for (const place of Object.values(world.places))
      await saveAll(world.db, place, [{ content: `a ${UNSEEN} of ${place.name}` }]);
    await world.db.asSuperuser('analyze');
  });
  afterAll(() => world?.close());

  it('cannot be asked for with the operators and functions of the index', async () => {
    const [{ index, words }] = await world.db.asSuperuser(
      `select c.oid::regclass::text as index, pg_get_indexdef(c.oid, 1, false) as words
       from pg_class c join pg_am a on a.oid = c.relam
       where a.amname = 'bm25' and c.relname ~ '^packet_store_' order by c.relname limit 1`,
    );
    const asked = `to_bm25query('${UNSEEN}', '${index}')`;
    const literal = `'${index.replace('public.', '')}:${UNSEEN}'::bm25query`;
    const statements = [
      `select ${asked}`,
      `select to_bm25query('${UNSEEN}')`,
      `select ${words} <@> ${asked} from public.packet_store`,
      `select packet_id from public.packet_store order by ${words} <@> ${asked} limit 3`,
      `select packet_id from public.packet_store order by ${words} <@> ${literal} limit 3`,
      `select t.text <@> ${literal} from unnest(array['${UNSEEN}']) as t (text)`,
      `select t.texts <@> ${literal} from (select array['${UNSEEN}'] as texts) t`,
      `select bm25_text_bm25query_score('a ${UNSEEN}', ${literal})`,
      'select bm25_get_current_score()',
      `select bm25_summarize_index('${index}')`,
      `select bm25_level_counts('${index}')`,
      `select bm25_memtable_chain('${index}')`,
    ];
    for (const statement of statements) await world.db.asSuperuser(statement);
    for (const reader of world.readers) {
      await reader.session(async (client) => {
        for (const statement of statements) {
          const { error } = await attempt(client, statement);
          expect(error?.code, `${reader.name}: ${statement}`).toBe('42501');
        }
      });
    }
  });

  it('cannot be asked for with any function of the extension that a role of callers may execute', async () => {
    // The functions that read and write values of its types, and compare them, read no index.
    const rows = await world.db.asSuperuser(
      `select r.role, p.oid::regprocedure::text as routine
       from pg_proc p
       join pg_depend d on d.classid = 'pg_proc'::regclass and d.objid = p.oid
       join pg_extension e on d.refclassid = 'pg_extension'::regclass and e.oid = d.refobjid and e.extname = 'pg_textsearch'
       cross join unnest($1::text[]) as r (role)
       where has_function_privilege(r.role, p.oid, 'execute')
         and p.proname !~ '^bm25(vector|query)_(in|out|recv|send|eq)$' and p.proname <> 'tp_handler'`,
      [CALLERS],
    );
    expect(rows).toStrictEqual([]);
  });

  it('stands in no table, view or statistics of the planner that a session can read', async () => {
    for (const reader of world.readers.filter(({ name }) => name !== 'an administrator')) {
      await reader.session(async (client) => {
        const { rows } = await client.query(
          `select c.oid::regclass::text as name from pg_class c
           where c.relkind in ('r', 'p', 'v', 'm', 'f') and has_schema_privilege(c.relnamespace, 'usage')
             and has_table_privilege(c.oid, 'select') and c.relname !~ '^pg_(stat_activity|prepared_statements|cursors)$'`,
        );
        expect(rows.length).toBeGreaterThan(50);
        for (const { name } of rows) {
          const { rows: found } = await attempt(
            client,
            `select t::text as line from ${name} t where t::text like '%${UNSEEN}%'`,
          );
          const lines = (found ?? []).filter(({ line }) => !readableLine(line, reader.reads));
          expect(lines, `${reader.name}: ${name}`).toStrictEqual([]);
        }
      });
    }
  });
});

const readableLine = (line: string, reads: readonly string[]) =>
  reads.some((name) => line.includes(`a ${UNSEEN} of ${name}`));
