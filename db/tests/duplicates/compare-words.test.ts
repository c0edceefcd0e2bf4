// Two texts are near-duplicates only if the words that differ do not change their meaning.
import { named } from '../support/named.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { alike, apart, pairOf } from './judged-pairs.ts';

const SAVE = 'select r.status, (r.memory).packet_id from public.save_memory';

describe('compare_used_words', () => {
  const db = useTestDatabase();
  let project = 0;

  const compare = async (pairs: [string, string][]) =>
    db.sql(
      'C',
      `select p.one, p.other, c.similarity >= duplicates.similarity_threshold() and not c.is_distinguished as is_near, c.is_distinguished
       from jsonb_to_recordset($1) as p (one text, other text) cross join lateral 
         duplicates.compare_used_words(duplicates.used_words(p.one), duplicates.used_words(p.other), 'english') c`,
      [JSON.stringify(pairs.map(([one, other]) => ({ one, other })))],
    );
  const save = async (args: Record<string, unknown>) =>
    (await db.sql('C', `${SAVE}(${named(args)}) r`, Object.values(args)))[0];

  it.each(Object.keys(apart))('keeps apart what says something else, in %s', async (language) => {
    const rows = await compare(apart[language]!.map(pairOf));
    expect(rows.filter(({ is_distinguished }) => !is_distinguished)).toStrictEqual([]);
  });

  it.each(Object.keys(alike))('finds harmless rewordings, in %s', async (language) => {
    const rows = await compare(alike[language]!.map(pairOf));
    expect(rows.filter(({ is_near }) => !is_near)).toStrictEqual([]);
  });

  it('looks at the words that differ however long the text and however often it has these words elsewhere', async () => {
    const filler = Array.from(
      { length: 120 },
      (_, i) => `Part ${i} of the plan does not say who is off on Tuesday; five of its six pages are never enabled.`,
    ).join(' ');
    const lines = ['en', 'de', 'tr', 'ru', 'zh'].flatMap((language) => apart[language]!.slice(0, 6));
    const rows = await compare(
      lines.map((line) => pairOf(line).map((text) => `${filler} ${text} ${filler}`) as [string, string]),
    );
    expect(rows.filter(({ is_distinguished }) => !is_distinguished)).toStrictEqual([]);
  });

  it.each([
    [
      'places',
      'The mirror copies from Berlin to Paris each night.',
      'The mirror copies from Paris to Berlin each night.',
    ],
    ['numbers', 'The job runs 5 replicas and 3 shards.', 'The job runs 3 replicas and 5 shards.'],
    [
      'days',
      'Deploy on Tuesday, not on Friday, after the tests.',
      'Deploy on Friday, not on Tuesday, after the tests.',
    ],
    ['roles', 'The gateway calls the worker over HTTP.', 'The worker calls the gateway over HTTP.'],
    ['states', 'Enabled in staging, disabled in production.', 'Disabled in staging, enabled in production.'],
  ])('tells %s that have changed places', async (_, one, other) =>
    expect(await compare([[one, other]])).toMatchObject([{ is_distinguished: true }]));

  it('takes the order of a list, and one number written in two ways, for the same', async () => {
    const rows = await compare([
      ['Redis and Postgres run in Docker on the laptop.', 'Postgres and Redis run in Docker on the laptop.'],
      ['The page holds 1,000 rows of the export at once.', 'The page holds 1000 rows of the export at once.'],
      ['The page holds ٩٠ rows of the export at once.', 'The page holds 90 rows of the export at once.'],
    ]);
    expect(rows.filter(({ is_near }) => !is_near)).toStrictEqual([]);
  });

  it('is a bar to skip and to merge, over any similarity', async () => {
    for (const line of ['de', 'en', 'fr', 'ja'].flatMap((language) => apart[language]!.slice(0, 4)))
      for (const on_similar of ['skip', 'merge']) {
        const [one, other] = pairOf(line);
        const project_id = `bar${++project}`;
        await save({ project_id, content: one });
        expect([line, (await save({ project_id, content: other, on_similar })).status]).toStrictEqual([
          line,
          'inserted',
        ]);
      }
  });

  it('is a bar to a lesson that would reinforce its opposite', async () => {
    const reflect = async (content: string) =>
      (await db.sql('C', 'select (public.reflect($1, project_id => $2)).status', [content, `lessons${project}`]))[0]
        .status;
    expect(await reflect('Die Sicherung läuft auf dem Cluster immer während der Wartung.')).toBe('inserted');
    expect(await reflect('Die Sicherung läuft auf dem Cluster nie während der Wartung.')).toBe('inserted');
    expect(await reflect('Die Sicherung läuft auf dem Cluster immer während der Wartung!')).toBe('reinforced');
  });

  it('keeps the newer value of a field in a merge', async () => {
    const p = { project_id: `fields${++project}` };
    const content = 'The export of the ledger is written to the second site by the worker.';
    const first = await save({ ...p, content, metadata: { owner: 'a', kept: 1 }, envelope: { port: 1 } });
    const again = { ...p, content: `${content.slice(0, -1)}!`, metadata: { owner: 'b' }, envelope: { port: 2 } };
    expect(await save({ ...again, on_similar: 'merge' })).toMatchObject({
      status: 'updated',
      packet_id: first.packet_id,
    });
    const [row] = await db.sql(
      'C',
      `select metadata ->> 'owner' as owner, metadata ->> 'kept' as kept, metadata ->> 'creator' as creator, envelope ->> 'port' as port
       from public.packet_store where packet_id = $1`,
      [first.packet_id],
    );
    expect(row).toStrictEqual({ owner: 'b', kept: '1', creator: 'Cursor-IDE', port: '2' });
  });

  it('compares texts up to the limit word by word, and longer ones exactly only', async () => {
    const [{ limit }] = await db.sql('C', 'select duplicates.max_compared_chars() as limit');
    const words = Array.from({ length: limit / 8 }, (_, i) => `w${(i * 7919).toString(36)}x`.padEnd(7, 'y')).join(' ');
    const end = (text: string, word: string) => `${text.slice(0, -word.length - 1)} ${word}`;
    const atLimit = words.slice(0, limit);
    expect(atLimit).toHaveLength(limit);
    const statusOf = async (one: string, other: string) => {
      const p = { project_id: `limit${++project}` };
      await save({ ...p, content: one });
      return (await save({ ...p, content: other, on_similar: 'skip' })).status;
    };
    expect(await statusOf(end(atLimit, 'gladly'), end(atLimit, 'really'))).toBe('skipped_dedupe');
    expect(await statusOf(end(atLimit, 'always'), end(atLimit, 'never'))).toBe('inserted');
    const longer = `${atLimit}z`;
    expect(await statusOf(end(longer, 'gladly'), end(longer, 'really'))).toBe('inserted');
    expect(await statusOf(longer, ` ${longer.toUpperCase()}`)).toBe('skipped_dedupe');
  });
});
