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
    const fold = (of: string) => {
      const result: Record<string, Record<string, unknown>> = {};
      for (const { entities } of lineage(model[of]!).filter((update) => model[of]!.includes(update)))
        for (const [id, attributes] of Object.entries(entities)) {
          if (attributes === null) delete result[id];
          else {
            result[id] = { ...result[id], ...attributes };
            for (const [key, value] of Object.entries(result[id]!)) if (value === null) delete result[id]![key];
          }
        }
      return result;
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
        const applied = await apply(
          random(2) ? 'C' : 'L',
          of,
          Object.entries(entities).map(([entity_id, attributes]) =>
            attributes ? { entity_id, attributes } : { entity_id, delete: true },
          ),
        );
        updates.push({ version: applied.state_version_after, packet: applied.source_packet, entities, restores: null });
      } else if (act < 8) {
        const version = random(now + 1);
        const past = updates.filter((update) => update.version <= version);
        const made = await restore('L', of, version);
        updates.push({
          version: made.state_version_after,
          packet: made.source_packet,
          entities: {},
          restores: lineage(past),
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
