// What a search says in a project that has no memories for the caller.
import { useTestDatabase } from '../support/test-database.ts';

describe('a search in a project without memories', () => {
  const db = useTestDatabase({ rollsBack: true });

  const save = (caller: string, content: string, project: string, scope = 'developer') =>
    db.sql(caller, 'select public.save_memory($1, project_id => $2, scope => $3)', [content, project, scope]);
  const noticeOf = async (caller: string, project: string | null, claims: Record<string, string> = {}) => {
    const [{ notice }] = await db.sql(
      caller,
      "select s.searched ->> 'notice' as notice from public.search_memory('the mill', project_id => $1, mode => 'lexical') s",
      [project],
      claims,
    );
    return notice;
  };

  it('names the projects that have some, and only those', async () => {
    expect(await noticeOf('C', 'mil')).toBe('Project mil has no memories that you may read here; no project has any.');
    await save('C', 'the mill turns', 'mill');
    await save('C', 'the river rises', 'river');
    await save('L', 'the mill is sold', 'hush', 'l-private');
    expect(await noticeOf('C', 'mil')).toBe(
      'Project mil has no memories that you may read here; there are memories in mill, river.',
    );
    // What only L may read is a project without memories for C.
    expect(await noticeOf('C', 'hush')).toBe((await noticeOf('C', 'mil')).replace('mil ', 'hush '));
    expect(await noticeOf('L', 'mil')).toContain('hush, mill, river.');
    expect(await noticeOf('C', 'mil', { 'jwt.claims.projects': '["mil","river"]' })).toContain(
      'there are memories in river.',
    );
  });

  it('names none where it found something or nothing matched, nor without a project', async () => {
    await save('C', 'the mill turns', 'mill');
    await save('C', 'rain', 'river');
    for (const project of ['mill', 'river', null]) expect(await noticeOf('C', project)).toBeNull();
  });

  it('names ten at most, and leaves out what has expired or waits for a review', async () => {
    for (let n = 10; n < 22; n++) await save('C', `text ${n}`, `p${n}`);
    const notice = await noticeOf('C', 'mil');
    expect(notice).toMatch(/memories in p10, p11, .*p19 and others\.$/);
    await db.sql('L', "select public.delete_memory(packet_id) from public.packet_store where project_id <> 'p15'");
    expect(await noticeOf('C', 'mil')).toMatch(/memories in p15\.$/);
  });

  it('says so through memory_find, too', async () => {
    await save('C', 'the mill turns', 'mill');
    const [{ notice }] = await db.sql(
      'C',
      "select s.searched ->> 'notice' as notice from public.memory_find('the mill', project_id => 'mil') s",
    );
    expect(notice).toContain('there are memories in mill.');
  });
});
