// A tenant that was exported, and imported into an empty database, is the same there.
import { embedPending, serveModel, wordModel } from '../support/embeddings.ts';
import { saveMemory } from '../support/memories.ts';
import { openTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { exportAll, importAll, kindOf } from './support.ts';

let from: TestDatabase;
let to: TestDatabase;
beforeAll(async () => {
  [from, to] = [await openTestDatabase(), await openTestDatabase()];
  await fill(from);
});
afterAll(async () => {
  await from.close();
  await to.close();
});

async function fill(db: TestDatabase) {
  await db.sql('L', "select public.register_actor('Ann', creator => 'Ann')");
  await db.sql('L', "select public.set_search_settings(languages => '{german,english}')");
  await db.sql('L', "select public.set_review_rule(true, caller => 'Ann', kinds => '{fact}')");
  const mill = await saveMemory(db, 'C', { content: 'The mill stands by the river', tags: ['mill', 'river'] });
  const grain = await saveMemory(db, 'L', { content: 'Grain is weighed twice', scope: 'l-private' });
  const number = await saveMemory(db, 'C', { content: 'A number', envelope: { exact: 0.1, deep: { empty: null } } });
  await saveMemory(db, 'Ann', { content: 'We decide for stone', kind: 'fact' });
  await db.sql('C', 'select public.update_memory($1, content => $2)', [mill, 'The mill stands on the hill, "ä\\n"']);
  await db.sql('C', "select public.assert_fact('mill', 'stands on', '\"hill\"', source_packet => $1)", [mill]);
  await db.sql('L', "select public.assert_fact('mill', 'stands on', '\"hill\"', source_packet => $1)", [number]);
  await db.sql('C', "select public.relate('mill', 'grinds', 'grain', source_packet => $1)", [mill]);
  await db.sql('C', "select public.add_alias('windmill', 'mill', source_packet => $1)", [mill]);
  await db.sql('C', "select public.reflect('Weigh grain when it is dry', project_id => 'l9')");
  await db.sql('L', "select public.reflect_on_task('t-1', 'mill', 'success', project_id => 'l9')");
  return { mill, grain };
}

describe('an export that is imported into an empty database', () => {
  it('gives the same lines there, and importing it again changes nothing', async () => {
    const first = await exportAll(from);
    expect(new Set(first.lines.map(kindOf))).toStrictEqual(
      new Set([
        ...['scope', 'actor', 'search_settings', 'review_rule', 'memory', 'version', 'alias', 'fact', 'relationship'],
        ...['reflection', 'attestation', 'task_reflection', 'signals'],
      ]),
    );
    const counted = first.header.counts.filter(({ lines }: { lines: number }) => lines > 0);
    expect(counted.reduce((sum: number, { lines }: { lines: number }) => sum + lines, 0)).toBe(first.lines.length);

    const answer = await importAll(to, first.lines);
    expect(answer.left_out).toBe(0);
    const second = await exportAll(to);
    expect(second.lines).toStrictEqual(first.lines);
    expect(second.header.counts).toStrictEqual(first.header.counts);

    expect(await importAll(to, first.lines)).toStrictEqual({ stored: 0, present: first.lines.length, left_out: 0 });
    expect((await exportAll(to)).lines).toStrictEqual(first.lines);
  });

  it('holds vectors and contexts when they are asked for, which then need not be made again', async () => {
    const model = wordModel(['mill', 'grain']);
    const [source, target] = [await openTestDatabase(), await openTestDatabase()];
    try {
      await serveModel(source, model);
      await serveModel(target, model);
      await saveMemory(source, 'C', { content: 'Who runs the mill?', kind: 'message', thread_id: 't', speaker: 'Ann' });
      await saveMemory(source, 'C', {
        content: 'Ben weighs the grain',
        kind: 'message',
        thread_id: 't',
        speaker: 'Ben',
      });
      await embedPending(source, model);
      const all = (db: TestDatabase) => exportAll(db, 'L', {}, 1000, ['vectors']);
      const { lines } = await all(source);
      expect(lines.map(kindOf).filter((kind) => kind === 'context' || kind === 'vector')).toStrictEqual([
        'context',
        ...['vector', 'vector', 'vector'],
      ]);
      await importAll(target, lines);
      expect((await all(target)).lines).toStrictEqual(lines);
      expect(await target.asSuperuser('select * from embeddings.pending_embeddings')).toStrictEqual([]);
      expect((await importAll(target, lines)).stored).toBe(0);
    } finally {
      await source.close();
      await target.close();
    }
  });
});
