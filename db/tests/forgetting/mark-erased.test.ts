// Erasing what was derived from a memory.
import { useTestDatabase } from '../support/test-database.ts';
import { erasuresOf } from './support.ts';

describe('a memory that others are derived from', () => {
  const db = useTestDatabase({ rollsBack: true });
  const { save, eraseMemory, isThere, tombstones } = erasuresOf(db);
  const derive = (kind: string, parents: string[], args = {}) => save('L', { kind, parent_ids: parents, ...args });
  const left = async (ids: string[]) => {
    const there = await Promise.all(ids.map(isThere));
    return ids.map((_, i) => there[i]);
  };

  it('erases summaries and facts that rest only on erased memories, and keeps the others', async () => {
    const [a, b] = [await save('C'), await save('C')];
    const summary = await derive('summary', [a]);
    const fact = await derive('fact', [summary]);
    const both = await derive('summary', [a, b]);
    const ofBoth = await derive('fact', [both, fact]);
    const note = await derive('note', [a]);
    const all = [a, b, summary, fact, both, ofBoth, note];
    const { memories, erasure_id } = await eraseMemory('L', a);
    expect(memories).toBe(3);
    expect(await left(all)).toStrictEqual([false, true, false, false, true, true, true]);
    expect((await tombstones('L', [a, summary, fact])).every((row) => row.erasure_id === erasure_id)).toBe(true);

    expect((await eraseMemory('L', b)).memories).toBe(3);
    expect(await left(all)).toStrictEqual([false, false, false, false, false, false, true]);
  });

  it('counts a parent that was deleted earlier as erased', async () => {
    const [a, b] = [await save('C'), await save('C')];
    const summary = await derive('summary', [a, b]);
    await db.sql('L', 'select public.delete_memory($1)', [a]);
    expect(await isThere(summary)).toBe(true);
    expect((await eraseMemory('L', b)).memories).toBe(2);
    expect(await isThere(summary)).toBe(false);
  });

  it('erases nothing if a derived memory is outside the claims of the token', async () => {
    const id = await save('C');
    const summary = await derive('summary', [id], { scope: 'l-private' });
    await expect(eraseMemory('L', id, { 'jwt.claims.scopes': '["developer"]' })).rejects.toMatchObject({
      code: 'L9SCP',
    });
    expect(await left([id, summary])).toStrictEqual([true, true]);
    expect(await tombstones('L', [id, summary])).toStrictEqual([]);
    expect((await eraseMemory('L', id)).memories).toBe(2);
  });

  it('reaches the sections of a document, and the searches that found one', async () => {
    const store = `select packet_id as id from public.memory_store(jsonb_build_array(jsonb_build_object('kind', 'document', 'project_id', 'l9',
      'data', jsonb_build_object('title', 'Handbook', 'body_md', $1::text))))`;
    const [{ id }] = await db.sql('C', store, ['# Lamps\n\nThe quincunx lamp stands in the north room.\n']);
    const sections = await db.sql('C', 'select packet_id as id from public.packet_store where part_of = $1', [id]);
    expect(sections).toHaveLength(1);
    await db.sql('C', "select public.search_memory('quincunx lamp', mode => 'lexical', project_id => 'l9')");
    await eraseMemory('L', id);
    expect(await tombstones('L', [id, sections[0].id])).toHaveLength(2);
    const [{ n }] = await db.asSuperuser(
      "select count(*)::integer as n from public.audit_query_texts where query like '%quincunx%'",
    );
    expect(n).toBe(0);
  });
});
