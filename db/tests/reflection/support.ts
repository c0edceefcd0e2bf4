// Calls of this chapter, each as a caller.
import { named } from '../support/named.ts';
import type { Claims, Rows, Sessions } from '../support/sessions.ts';

export const reflectionsOf = (db: Sessions) => ({
  /** Calls reflect() in project l9 unless the arguments name another; the row has status and content too. */
  async reflect(caller: string, args: Record<string, unknown>, claims: Claims = {}) {
    const all = Object.fromEntries(Object.entries({ project_id: 'l9', ...args }).filter(([, value]) => value !== null));
    const query = `select r.status, (r.reflection).*, public.reflection_store_content(r.reflection) as content
      from public.reflect(${named(all)}) r`;
    const [row] = await db.sql(caller, query, Object.values(all), claims);
    return row;
  },
  /** The lessons that the caller may read. */
  rows: (caller: string, condition = 'true', values: unknown[] = []): Promise<Rows> =>
    db.sql(caller, `select * from public.reflection_store where ${condition}`, values),
  /** Calls reflect_on_task() in project l9 unless the arguments name another. */
  async reflectOnTask(caller: string, args: Record<string, unknown>) {
    const all = { project_id: 'l9', ...args };
    const [row] = await db.sql(caller, `select * from public.reflect_on_task(${named(all)})`, Object.values(all));
    return row;
  },
  /** The lessons of a task that the caller may read. */
  lessonsOf: (caller: string, id: string): Promise<Rows> =>
    db.sql(
      caller,
      `select l.* from public.task_reflections t, public.task_reflections_lessons(t) l where t.task_reflection_id = $1`,
      [id],
    ),
});
