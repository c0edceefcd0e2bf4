// Measures whether a search by meaning tells an attacker that a certain memory is stored, though it can't read it:
// `npm run bench:membership`, on the embedded engine or the server of TEST_DATABASE_URL (superuser).
//
// Searches by meaning are exact while a caller can read few memories. Here it can read thousands, and the answer comes from an
// HNSW index, in which hidden vectors stand too. The attacker has the vectors of 2,000 texts, of which a coin put half into
// l-private, and saved a memory of its own beside each. It knows all readable vectors, so it can work out the exact answer. For each
// text it searches with the vector itself and with some close to it. Each trial gives three figures, and the area under the ROC
// curve (AUC) says how well each tells the stored texts from the others: .5 is chance.

import { seeded } from '../db/tests/search/hidden-rows/texts.ts';
import { saveAll } from '../db/tests/search/hidden-rows/world.ts';
import { serveModel } from '../db/tests/support/embeddings.ts';
import { engine } from '../db/tests/support/engine.ts';
import { openTestDatabase } from '../db/tests/support/test-database.ts';

const TRIALS = Number(process.env.MEMBERSHIP_TRIALS || 2_000);
const OTHERS = 1_500;
const DIMENSIONS = 64;
const TOPICS = 40;
const SEARCHES = 3;
const K = 100;
const model = 'membership';
const random = seeded(Number(process.env.MEMBERSHIP_SEED || 1));

type Vector = number[];
const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
const unit = (vector: Vector): Vector => vector.map((value) => value / Math.hypot(...vector));
const near = (vector: Vector, distance: number): Vector =>
  unit(vector.map((value) => value + (distance * normal()) / Math.sqrt(DIMENSIONS)));
const similarity = (one: Vector, other: Vector) => one.reduce((sum, value, n) => sum + value * other[n]!, 0);
const literal = (vector: Vector) => `[${[...vector, ...new Array<number>(1536 - DIMENSIONS).fill(0)].join(',')}]`;

const topics = Array.from({ length: TOPICS }, () => unit(Array.from({ length: DIMENSIONS }, normal)));
const anyText = (): Vector => near(topics[Math.floor(random() * TOPICS)]!, 0.8);

/** The chance that a stored text has a higher value than another one, where equal values count half. */
function areaUnderCurve(stored: readonly number[], others: readonly number[]): number {
  const all = [
    ...stored.map((value) => ({ value, isStored: true })),
    ...others.map((value) => ({ value, isStored: false })),
  ];
  all.sort((a, b) => a.value - b.value);
  let ranks = 0;
  for (let from = 0; from < all.length; ) {
    let to = from;
    while (to < all.length && all[to]!.value === all[from]!.value) to++;
    const rank = (from + 1 + to) / 2;
    ranks += rank * all.slice(from, to).filter(({ isStored }) => isStored).length;
    from = to;
  }
  return (ranks - (stored.length * (stored.length + 1)) / 2) / (stored.length * others.length);
}

const texts = Array.from({ length: TRIALS }, () => ({ vector: anyText(), isStored: random() < 0.5 }));
const readable = [...texts.map(({ vector }) => near(vector, 0.3)), ...Array.from({ length: OTHERS }, anyText)];

const db = await openTestDatabase();
try {
  await serveModel(db, { name: model, dimensions: DIMENSIONS, vectorOf: () => '' });
  const save = async (caller: string, scope: string, vectors: readonly Vector[]) => {
    const drafts = vectors.map((_, n) => ({ content: `${scope} ${n}` }));
    const ids = await saveAll(db, { name: scope, caller, claims: {}, scope, projectId: 'p1' }, drafts);
    for (let from = 0; from < ids.length; from += 250) {
      await db.asWorker(
        `select embeddings.store_vectors(p.packet_id, p.content_hash, $1, array[v.vector], '{}', '{}', '{}', null, null)
         from unnest($2::uuid[], $3::text[]) as v (id, vector) join public.packet_store p on p.packet_id = v.id`,
        [model, ids.slice(from, from + 250), vectors.slice(from, from + 250).map(literal)],
      );
    }
    return ids;
  };
  const ids = await save('C', 'developer', readable);
  await save(
    'L',
    'l-private',
    texts.filter(({ isStored }) => isStored).map(({ vector }) => vector),
  );
  for (const table of ['packet_store', 'memory_embeddings']) await db.asSuperuser(`vacuum analyze public.${table}`);

  const signals = { 'memories missed': [], 'similarity lost': [], 'hits returned': [] } as Record<string, number[]>;
  let missedOfAll = 0;
  for (const { vector } of texts) {
    let [missed, lost, returned] = [0, 0, 0];
    for (let n = 0; n < SEARCHES; n++) {
      const query = n === 0 ? vector : near(vector, 0.1 * n);
      const found = await db.asCaller('C', async (client) => {
        const { rows } = await client.query(
          `select array(select h.packet_id::text from unnest(s.hits) h) as ids
           from public.search_memory('x', k => ${K}, mode => 'semantic', query_vector => $1, model => $2) s`,
          [literal(query), model],
        );
        return new Set<string>(rows[0].ids);
      });
      const exact = readable
        .map((other, place) => ({ id: ids[place]!, similarity: similarity(query, other) }))
        .sort((a, b) => b.similarity - a.similarity);
      const unfound = exact.slice(0, K).filter(({ id }) => !found.has(id));
      missed += unfound.length;
      lost += unfound.reduce((sum, one) => sum + one.similarity, 0);
      returned += found.size;
    }
    missedOfAll += missed;
    signals['memories missed']!.push(missed);
    signals['similarity lost']!.push(lost);
    signals['hits returned']!.push(returned);
  }

  const recall = 1 - missedOfAll / (TRIALS * SEARCHES * K);
  console.log(
    `${engine} engine, ${TRIALS} trials, ${readable.length} readable memories, recall@${K} ${recall.toFixed(4)}`,
  );
  const allowed = 0.03 * Math.max(1, Math.sqrt(2_000 / TRIALS));
  for (const [name, values] of Object.entries(signals)) {
    const of = (isStored: boolean) => values.filter((_, n) => texts[n]!.isStored === isStored);
    const area = areaUnderCurve(of(true), of(false));
    const isChance = Math.abs(area - 0.5) <= allowed;
    console.log(`${name}: AUC ${area.toFixed(3)}${isChance ? '' : `, which is not .5 ± ${allowed.toFixed(3)}`}`);
    if (!isChance) process.exitCode = 1;
  }
} finally {
  await db.close();
}
