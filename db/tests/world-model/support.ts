// Calls that change and read worlds, each as a caller.
import type { Sessions } from '../support/sessions.ts';

export interface Applied {
  update_id: string;
  source_packet: string;
  audience_id: string;
  state_version_before: number;
  state_version_after: number;
}

export function worldsOf(db: Sessions) {
  let count = 0;
  /** A project that no other test uses. */
  const project = () => `p${++count}`;
  const apply = async (
    caller: string,
    project_id: string | null,
    entities: object[],
    more: { expected?: number | null; packet?: string; scope?: string; insight?: object } = {},
    claims = {},
  ): Promise<Applied> => {
    const insight = { insight_type: 'observation', content: `insight ${++count}`, entities, ...more.insight };
    const [row] = await db.sql(
      caller,
      'select (r).* from public.apply_world_update($1, $2, $3, $4, $5) r',
      [JSON.stringify(insight), more.expected ?? null, more.packet ?? null, more.scope ?? 'developer', project_id],
      claims,
    );
    return row;
  };
  const world = async (caller: string, project_id: string | null, args = '', scope = 'developer', claims = {}) => {
    const [row] = await db.sql(
      caller,
      `select to_jsonb(w) as world from public.get_world_model(scope => $1, project_id => $2 ${args}) w`,
      [scope, project_id],
      claims,
    );
    return row.world;
  };
  /** The entities of a world as { id: attributes }. */
  const state = async (...args: Parameters<typeof world>) =>
    Object.fromEntries(
      (await world(...args)).entities.map((it: { entity_id: string; attributes: object }) => [
        it.entity_id,
        it.attributes,
      ]),
    );
  const versions = async (caller: string, project_id: string) =>
    Object.fromEntries(
      (await world(caller, project_id)).entities.map((it: { entity_id: string; version: number }) => [
        it.entity_id,
        it.version,
      ]),
    );
  const remove = (caller: string, id: string) => db.sql(caller, 'select public.delete_memory($1)', [id]);
  const snapshot = async (caller: string, project_id: string, description: string | null = null) =>
    (
      await db.sql(caller, 'select (r).* from public.snapshot_world($1, project_id => $2) r', [description, project_id])
    )[0];
  const diff = (caller: string, project_id: string, a: string | number, b: string | number | null = null) =>
    db.sql(caller, 'select * from public.diff_world($1, $2, project_id => $3)', [a, b, project_id]);
  const restore = async (caller: string, project_id: string, to: string | number, expected: number | null = null) =>
    (
      await db.sql(caller, 'select (r).* from public.restore_world($1, $2, project_id => $3) r', [
        to,
        expected,
        project_id,
      ])
    )[0];
  /** Expects the stored entities of a world to equal the fold of its updates. */
  const isFolded = async (audienceId: string) => {
    const differences = await db.asSuperuser(
      `with w as (select * from world_model.worlds where audience_id = $1),
        f as (select f.* from w, world_model.fold_world(w.audience_id, world_model.world_lineage(w.audience_id, w.state_version)) f),
        e as (select * from public.world_model_entities where audience_id = $1)
       select f.entity_id as folded, e.entity_id as stored, f.attributes as fa, e.attributes as ea
       from f full join e on e.entity_id_normalized = f.entity_key
       where (f.entity_id, f.entity_type, f.attributes, f.confidence, f.ttl, f.set_by, f.type_set_by, f.is_from_admin, f.source_packet)
         is distinct from (e.entity_id, e.entity_type, e.attributes, e.confidence, e.ttl, e.set_by, e.type_set_by, e.is_from_admin, e.source_packet)`,
      [audienceId],
    );
    expect(differences).toStrictEqual([]);
  };

  return { project, apply, world, state, versions, remove, snapshot, diff, restore, isFolded };
}
