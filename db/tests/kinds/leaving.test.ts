// When memories of a kind are archived, expire, are superseded, or go with the memory that they are a part of.
import { type Fields, kindExamples } from '../support/kinds.ts';
import { useTestDatabase } from '../support/test-database.ts';

const DAY = 86_400_000;
const daysAgo = (days: number) => new Date(Date.now() - days * DAY).toISOString();
const example = (kind: string) => kindExamples.find((it) => it.kind === kind)!.fields;

describe('a memory that leaves', () => {
  const db = useTestDatabase({ rollsBack: true });

  const insert = async (
    kind: string,
    fields: Fields,
    more: { ttl?: string | null; scope?: string } = {},
    caller = 'C',
  ) =>
    (
      await db.sql(
        caller,
        `insert into public.packet_store (packet_type, envelope, project_id, ttl, scope)
         values ($1, $2, case when $4 <> 'global' then 'l9' end, $3, $4) returning packet_id, ttl, archived_at`,
        [kind, { ...example(kind), ...fields }, more.ttl ?? null, more.scope ?? 'developer'],
      )
    )[0];
  const change = async (id: string, fields: Fields, caller = 'C') =>
    (
      await db.sql(
        caller,
        'update public.packet_store set envelope = envelope || $2 where packet_id = $1 returning ttl, archived_at, envelope',
        [id, fields],
      )
    )[0];
  const rowOf = async (id: string) =>
    (await db.sql('L', 'select *, envelope from public.packet_store where packet_id = $1', [id]))[0];

  describe('a todo', () => {
    it('is archived 90 days after it was closed, and no longer once it is open again', async () => {
      const { packet_id, archived_at } = await insert('todo', {});
      expect(archived_at).toBeNull();
      const closed = await change(packet_id, { status: 'done', closed_at: '2026-01-01T00:00:00Z' });
      expect(closed.archived_at).toStrictEqual(new Date('2026-04-01T00:00:00Z'));
      const open = await change(packet_id, { status: 'open', closed_at: null });
      expect(open.archived_at).toBeNull();
      expect(open.envelope).not.toHaveProperty('closed_at');
    });

    it('gets the time of its end by itself, and loses it where it is opened again', async () => {
      const { packet_id } = await insert('todo', {});
      const before = Date.now() - 1_000;
      for (const status of ['done', 'cancelled']) {
        const { envelope, archived_at } = await change(packet_id, { status });
        expect(Date.parse(envelope.closed_at)).toBeGreaterThanOrEqual(before);
        expect(archived_at.getTime() - Date.parse(envelope.closed_at)).toBe(90 * DAY);
      }
      const open = await change(packet_id, { status: 'open' });
      expect(open.archived_at).toBeNull();
      expect(open.envelope).not.toHaveProperty('closed_at');
      const done = await insert('todo', { text: 'Done at once', status: 'done' });
      expect(done.archived_at.getTime()).toBeGreaterThan(before + 89 * DAY);
      // A time that the writer gives stays.
      const given = await change(packet_id, { status: 'done', closed_at: '2026-01-01T00:00:00Z' });
      expect((await change(packet_id, { priority: 'low' })).envelope.closed_at).toBe(given.envelope.closed_at);
    });

    it('can be open again with the text of a todo that is done', async () => {
      const { packet_id } = await insert('todo', {});
      await change(packet_id, { status: 'done' });
      await insert('todo', {});
    });
  });

  describe('a pull request', () => {
    it('expires 30 days after it was merged, and not once it is open again', async () => {
      const { packet_id, ttl } = await insert('pr_context', {});
      expect(ttl).toBeNull();
      const at = daysAgo(10);
      const merged = await change(packet_id, { status: 'merged', merged_at: at });
      expect(merged.ttl).toStrictEqual(new Date(Date.parse(at) + 30 * DAY));
      expect((await change(packet_id, { status: 'open', merged_at: null })).ttl).toBeNull();
    });

    it('keeps the expiry that its writer chose, infinity too', async () => {
      const chosen = new Date(Date.now() + 5 * DAY);
      const { packet_id } = await insert('pr_context', {}, { ttl: chosen.toISOString() });
      expect((await change(packet_id, { merged_at: daysAgo(1) })).ttl).toStrictEqual(chosen);
      const forever = await insert('pr_context', { pr_number: 99, merged_at: daysAgo(400) }, { ttl: 'infinity' });
      expect(forever.ttl).toBe(Infinity);
    });

    it('is refused, with the field and what to do, if it would have expired already', async () => {
      await expect(insert('pr_context', { merged_at: daysAgo(31) })).rejects.toMatchObject({
        code: 'L9VAL',
        column: 'merged_at',
        message: expect.stringContaining('ttl'),
      });
    });
  });

  describe('a decision that supersedes another', () => {
    it('marks that one in the same transaction, though it is locked and has the same title', async () => {
      const old = await insert('decision', { status: 'accepted' });
      const successor = await insert('decision', {
        status: 'accepted',
        rationale: 'We tried.',
        supersedes: old.packet_id,
      });
      expect((await rowOf(old.packet_id)).envelope).toMatchObject({
        status: 'superseded',
        superseded_by: successor.packet_id,
      });
      const third = await insert('decision', {
        status: 'accepted',
        rationale: 'Again.',
        supersedes: successor.packet_id,
      });
      expect((await rowOf(successor.packet_id)).envelope).toMatchObject({ superseded_by: third.packet_id });
    });

    it('must be stored by a caller who may change the other, and may see it', async () => {
      const ofL = await insert('decision', { status: 'accepted' }, {}, 'L');
      const hidden = await insert('decision', { status: 'accepted' }, { scope: 'l-private' }, 'L');
      const missing = '01900000-0000-7000-8000-000000000000';
      const errors = [];
      for (const id of [ofL.packet_id, hidden.packet_id, missing])
        errors.push(
          await insert('decision', { title: 'Another', supersedes: id }).catch(({ code, message }) => [code, message]),
        );
      expect(new Set(errors.map(String)).size).toBe(1);
      expect(errors[0]).toStrictEqual(['L9VAL', 'supersedes: no other decision that you may change has this id']);
    });
  });

  describe('a decision that is superseded', () => {
    it('names one that its writer can read, of the same scope, project and owner', async () => {
      const old = await insert('decision', { status: 'accepted' });
      const hidden = await insert('decision', { status: 'accepted' }, { scope: 'l-private' }, 'L');
      const elsewhere = await insert('decision', { status: 'accepted' }, { scope: 'global' });
      const todo = await insert('todo', {});
      const missing = '01900000-0000-7000-8000-000000000000';
      const refused = {
        code: 'L9VAL',
        column: 'superseded_by',
        message: 'superseded_by: no other decision of this scope, project and owner has this id',
      };
      const supersede = (superseded_by: string) => change(old.packet_id, { status: 'superseded', superseded_by });
      await expect(supersede(old.packet_id)).rejects.toMatchObject(refused);
      for (const superseded_by of [hidden.packet_id, elsewhere.packet_id, todo.packet_id, missing]) {
        await expect(supersede(superseded_by)).rejects.toMatchObject(refused);
        await expect(insert('decision', { title: 'Another', superseded_by })).rejects.toMatchObject(refused);
      }
      const other = await insert('decision', { title: 'Use a log' });
      const { envelope } = await supersede(other.packet_id);
      expect(envelope).toMatchObject({ status: 'superseded', superseded_by: other.packet_id });
    });

    it('stays superseded, because another one may have its name by then', async () => {
      const old = await insert('decision', { status: 'accepted' });
      await insert('decision', { status: 'accepted', supersedes: old.packet_id });
      for (const status of ['deprecated', 'accepted', 'proposed'])
        await expect(change(old.packet_id, { status })).rejects.toMatchObject({ code: 'L9IMM', column: 'status' });
    });
  });

  describe('a section', () => {
    it('does not leave a document that is approved, neither as another kind nor for another document', async () => {
      const document = await insert('document', {});
      const other = await insert('document', { source_url: 'docs/other.md' });
      const section = await insert('section', { document_id: document.packet_id });
      await change(document.packet_id, { approved_at: daysAgo(1) });
      for (const statement of [
        "select public.update_memory($1, kind => 'note')",
        'select public.update_memory($1, envelope => \'{"document_id": null}\')',
        `select public.update_memory($1, envelope => '{"document_id": "${other.packet_id}"}')`,
        'select public.delete_memory($1)',
      ])
        await expect(db.sql('C', statement, [section.packet_id]), statement).rejects.toMatchObject({ code: 'L9IMM' });
      expect(await rowOf(section.packet_id)).toMatchObject({ packet_type: 'section', part_of: document.packet_id });
    });

    it('moves, expires and is deleted with its document', async () => {
      const document = await insert('document', {});
      const section = await insert('section', { document_id: document.packet_id });
      const expiry = new Date(Date.now() + DAY);
      await db.sql(
        'C',
        "update public.packet_store set scope = 'global', project_id = null, ttl = $2 where packet_id = $1",
        [document.packet_id, expiry.toISOString()],
      );
      expect(await rowOf(section.packet_id)).toMatchObject({ scope: 'global', project_id: null, ttl: expiry });
      await db.sql('C', 'select public.delete_memory($1)', [document.packet_id]);
      expect(await rowOf(section.packet_id)).toBeUndefined();
    });

    it('belongs to a document that its writer may change, of the same audience', async () => {
      const shared = await insert('document', {}, { scope: 'global' });
      const ofL = await insert('document', { source_url: 'of L' }, {}, 'L');
      for (const document_id of [shared.packet_id, ofL.packet_id, '01900000-0000-7000-8000-000000000000'])
        await expect(insert('section', { document_id })).rejects.toMatchObject({
          code: 'L9VAL',
          column: 'document_id',
        });
    });

    it('is locked with its document: none is changed, added or deleted', async () => {
      const document = await insert('document', {});
      const { packet_id } = await insert('section', { document_id: document.packet_id });
      await change(document.packet_id, { approved_at: daysAgo(1) });
      const locked = { code: 'L9IMM', column: 'document_id', message: expect.stringContaining('store a new document') };
      await expect(change(packet_id, { body_md: 'Other text' })).rejects.toMatchObject(locked);
      await expect(insert('section', { document_id: document.packet_id, body_md: 'More' })).rejects.toMatchObject(
        locked,
      );
      await expect(db.sql('C', 'select public.delete_memory($1)', [packet_id])).rejects.toMatchObject(locked);
      await db.sql('C', 'select public.delete_memory($1)', [document.packet_id]);
      expect(await rowOf(packet_id)).toBeUndefined();
    });
  });

  it('lets no update of a memory set what triggers compute', async () => {
    const { packet_id } = await insert('todo', {});
    for (const column of ['title', 'archived_at', 'part_of', 'identity_hash'])
      await expect(
        db.sql('C', `update public.packet_store set ${column} = null where packet_id = $1`, [packet_id]),
      ).rejects.toMatchObject({ code: '42501' });
  });
});
