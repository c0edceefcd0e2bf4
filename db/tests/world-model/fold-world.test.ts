// A world is the fold of its updates in version order.
import { useTestDatabase } from '../support/test-database.ts';
import { worldsOf } from './support.ts';

describe('fold_world', () => {
  const db = useTestDatabase({ rollsBack: true });
  const { project, apply, world, state, remove, restore, isFolded } = worldsOf(db);

  it('agrees with the stored entities after any order of updates, restores, deletions and moves', async () => {
    // A model of the same rules: updates in order, where a restore stands for the state that it restores.
    const [p, q] = [project(), project()];
    type Update = {
      version: number;
      isAdmin: boolean;
      packet: string;
      entities: Record<string, Record<string, unknown> | null>;
      restores: Update[] | null;
    };
    const model: Record<string, Update[]> = { [p]: [], [q]: [] };
    let seed = 7;
    const random = (n: number) => {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      return Math.floor((seed / 2147483648) * n);
    };
    const lineage = (updates: Update[]): Update[] => {
      let line: Update[] = [];
      for (const update of updates) line = update.restores ? [...update.restores] : [...line, update];
      return line;
    };
    /** The value of an administrator counts before those of agents; once it is taken away, theirs count again. */
    const fold = (of: string) => {
      const values: Record<string, Record<string, { value: unknown; isAdmin: boolean }>> = {};
      for (const { entities, isAdmin } of lineage(model[of]!).filter((update) => model[of]!.includes(update)))
        for (const [id, attributes] of Object.entries(entities)) {
          const entity = values[id] ?? {};
          const keeps = ([, one]: [string, { isAdmin: boolean }]) => !isAdmin && one.isAdmin;
          if (attributes === null) values[id] = Object.fromEntries(Object.entries(entity).filter(keeps));
          else {
            values[id] = entity;
            entity[''] = { value: null, isAdmin: isAdmin || entity['']?.isAdmin === true };
            for (const [key, value] of Object.entries(attributes)) {
              if (!isAdmin && entity[key]?.isAdmin) continue;
              if (value === null) delete entity[key];
              else entity[key] = { value, isAdmin };
            }
          }
        }
      return Object.fromEntries(
        Object.entries(values)
          .filter(([, entity]) => '' in entity)
          .map(([id, { '': _, ...entity }]) => [
            id,
            Object.fromEntries(Object.entries(entity).map(([key, { value }]) => [key, value])),
          ]),
      );
    };
    const seen = { [p]: 0, [q]: 0 } as Record<string, number>;
    for (let step = 0; step < 120; step++) {
      const of = random(3) ? p : q;
      const updates = model[of]!;
      const act = random(10);
      const now = (await world('L', of)).version as number;
      if (act < 6 || updates.length === 0) {
        const entities: Update['entities'] = {};
        for (let n = 0; n <= random(3); n++)
          entities[`e${random(5)}`] = random(6)
            ? { [`k${random(3)}`]: random(4) || null, [`j${random(2)}`]: step }
            : null;
        const isAdmin = random(2) === 0;
        const applied = await apply(
          isAdmin ? 'L' : 'C',
          of,
          Object.entries(entities).map(([entity_id, attributes]) =>
            attributes ? { entity_id, attributes } : { entity_id, delete: true },
          ),
        );
        updates.push({
          version: applied.state_version_after,
          packet: applied.source_packet,
          isAdmin,
          entities,
          restores: null,
        });
      } else if (act < 8) {
        const version = random(now + 1);
        const past = updates.filter((update) => update.version <= version);
        const isAdmin = random(2) === 0;
        const former = lineage(updates);
        const made = await restore(isAdmin ? 'L' : 'C', of, version);
        // An agent takes back what agents have set, and nothing else.
        const restores = isAdmin
          ? lineage(past)
          : [...lineage(past).filter((update) => !update.isAdmin), ...former.filter((update) => update.isAdmin)].sort(
              (a, b) => a.version - b.version,
            );
        updates.push({
          isAdmin,
          version: made.state_version_after,
          packet: made.source_packet,
          entities: {},
          restores,
        });
      } else if (act < 9) {
        const [gone] = updates.splice(random(updates.length), 1);
        await remove('L', gone!.packet);
      } else {
        const other = of === p ? q : p;
        const [moved] = updates.splice(random(updates.length), 1);
        await db.sql('L', 'select public.update_memory($1, project_id => $2)', [moved!.packet, other]);
        const [{ v }] = await db.sql(
          'L',
          'select state_version_after as v from public.world_model_updates where source_packet = $1',
          [moved!.packet],
        );
        model[other]!.push({ ...moved!, version: v, restores: null });
      }
      for (const it of [p, q]) {
        const { version, audience_id } = await world('L', it);
        expect(version).toBeGreaterThanOrEqual(seen[it]!);
        seen[it] = version;
        expect(await state('L', it), `step ${step}`).toStrictEqual(fold(it));
        await isFolded(audience_id);
      }
    }
  });
});
