// save_memory and update_memory with memories whose kind has rules.
import { type Fields, kindExamples } from '../support/kinds.ts';
import { itOnServer } from '../support/on-engine.ts';
import { useTestDatabase } from '../support/test-database.ts';

const example = (kind: string) => kindExamples.find((it) => it.kind === kind)!.fields;

describe('saving a memory of a kind with rules', () => {
  const db = useTestDatabase();

  const save = async (kind: string, envelope: Fields, more: Fields = {}, caller = 'C') =>
    (
      await db.sql(
        caller,
        `select r.status, (r.memory).packet_id as id, (r.memory).envelope as envelope, (r.memory).tags as tags
         from public.save_memory(kind => $1, envelope => $2, project_id => $3, tags => $4, content => $5) r`,
        [kind, envelope, more.project ?? 'l9', more.tags ?? [], more.content ?? null],
      )
    )[0];
  const versions = async (id: string) =>
    (await db.sql('C', 'select count(*)::integer as n from public.packet_versions where packet_id = $1', [id]))[0].n;

  it.each(
    kindExamples.filter(({ same }) => same),
  )('updates the $kind that is the same, with its history, or answers that nothing differs', async ({
    kind,
    fields,
    same,
  }) => {
    const project = `same-${kind.replaceAll('_', '-')}`;
    const first = await save(kind, fields, { project });
    expect(first.status).toBe('inserted');
    expect(await save(kind, fields, { project })).toMatchObject({ status: 'skipped_dedupe', id: first.id });
    const second = await save(kind, { ...fields, ...same }, { project, tags: ['again'] });
    expect(second).toMatchObject({ status: 'updated', id: first.id, envelope: same, tags: ['again'] });
    expect(await versions(first.id)).toBe(1);
    expect(await save(kind, { ...fields, ...same }, { project })).toMatchObject({
      status: 'skipped_dedupe',
      id: first.id,
    });
    expect(await versions(first.id)).toBe(1);
  });

  it('keeps a field that is left out and removes one that is null', async () => {
    const project = 'left-out';
    await save('issue', { ...example('issue'), assignee: 'Ann' }, { project });
    const { envelope } = await save(
      'issue',
      { tracker: 'jira', external_id: 'pay-12', status: 'done', assignee: null },
      { project },
    );
    expect(envelope).toMatchObject({ title: 'Payments fail at midnight', status: 'done', external_id: 'pay-12' });
    expect(envelope).not.toHaveProperty('assignee');
  });

  it.each(['One queue', 'docs/One-queue.md'])('takes no notice of white space around a name: %s', async (title) => {
    const project = 'white-space';
    const first = await save('decision', { ...example('decision'), title }, { project });
    expect(await save('decision', { ...example('decision'), title: `\t${title} \n` }, { project })).toMatchObject({
      status: 'updated',
      id: first.id,
    });
  });

  it('closes the todo that is open, and adds none when that is repeated', async () => {
    const project = 'todos';
    const open = await save('todo', { text: 'Water the plants', status: 'open' }, { project });
    const done = { text: 'Water the plants', status: 'done', closed_at: '2026-11-20T10:00:00Z' };
    expect(await save('todo', done, { project })).toMatchObject({ status: 'updated', id: open.id });
    expect(await save('todo', done, { project })).toMatchObject({ status: 'skipped_dedupe', id: open.id });
    expect(await save('todo', { text: 'Water the plants', status: 'open' }, { project })).toMatchObject({
      status: 'inserted',
    });
  });

  it('takes a repeated end for that of the memory that ended last', async () => {
    const project = 'ended';
    const todo = { text: 'Water the plants', status: 'open' };
    const first = await save('todo', todo, { project });
    await save('todo', { ...todo, status: 'done' }, { project });
    const second = await save('todo', todo, { project });
    await save('todo', { ...todo, status: 'done' }, { project });
    expect(await save('todo', { ...todo, status: 'done' }, { project })).toMatchObject({ id: second.id });
    await db.sql('C', 'select public.update_memory($1, tags => $2)', [first.id, ['noted']]);
    expect(await save('todo', { ...todo, status: 'done' }, { project })).toMatchObject({
      status: 'skipped_dedupe',
      id: first.id,
    });
  });

  it('refuses another checksum for a migration', async () => {
    const project = 'migrations';
    const ddl = example('ddl');
    await save('ddl', ddl, { project });
    const { createHash } = await import('node:crypto');
    const ddl_text = 'drop table a;';
    const checksum = createHash('sha256').update(ddl_text).digest('hex');
    await expect(save('ddl', { ...ddl, ddl_text, checksum }, { project })).rejects.toMatchObject({
      code: 'L9IMM',
      message: 'checksum: is locked in this ddl; store another migration under a migration_id of its own',
    });
  });

  it('refuses a content of its own where the fields make it, rather than lose it', async () => {
    await expect(save('decision', example('decision'), { content: 'Long prose.' })).rejects.toMatchObject({
      code: 'L9VAL',
      column: 'content',
    });
    const { id, envelope } = await save('decision', example('decision'), { project: 'contents' });
    expect(envelope.content).toBe('Use one queue\n\nTwo queues drift apart.');
    await expect(
      db.sql('C', 'select public.update_memory($1, content => $2)', [id, 'Long prose.']),
    ).rejects.toMatchObject({ code: 'L9VAL', column: 'content' });
    await expect(
      db.sql('C', 'select public.update_memory($1, envelope => $2)', [id, { status: 'no such' }]),
    ).rejects.toMatchObject({ code: 'L9VAL', column: 'status' });
  });

  it('says whose the same memory is to a caller who may not change it, and says nothing of one that it cannot see', async () => {
    const ofL = await save('release_note', example('release_note'), { project: 'releases' }, 'L');
    await expect(
      save('release_note', { ...example('release_note'), summary: 'Mine' }, { project: 'releases' }),
    ).rejects.toMatchObject({
      code: 'L9OWN',
      message: expect.stringContaining(ofL.id),
    });
    expect(await save('release_note', example('release_note'), { project: 'releases' })).toMatchObject({
      status: 'skipped_dedupe',
      id: ofL.id,
    });
    await db.sql(
      'L',
      "select public.save_memory(kind => 'release_note', envelope => $1, scope => 'l-private', project_id => 'l9')",
      [example('release_note')],
    );
    expect(await save('release_note', example('release_note'), { project: 'l9' })).toMatchObject({
      status: 'inserted',
    });
  });

  itOnServer('leaves one row of twenty concurrent writers', async () => {
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        save('issue', { ...example('issue'), title: `Title ${n}` }, { project: 'race' }),
      ),
    );
    expect(results.filter(({ status }) => status === 'inserted')).toHaveLength(1);
    expect(new Set(results.map(({ id }) => id)).size).toBe(1);
    const [{ n }] = await db.sql(
      'C',
      "select count(*)::integer as n from public.packet_store where project_id = 'race'",
    );
    expect(n).toBe(1);
  });
});
