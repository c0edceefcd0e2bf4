// Which memories are compared with a text where there are too many to compare them all.
import { embedPending, serveModel, wordModel } from '../support/embeddings.ts';
import { named } from '../support/named.ts';
import { useTestDatabase } from '../support/test-database.ts';

const project_id = 'standup';
const repeated = 'The release train leaves every Tuesday at ten.';
const model = wordModel(['release', 'train', 'tuesday', 'minutes']);

describe('the list of near-duplicates among many memories', () => {
  const db = useTestDatabase();

  /** Messages of threads of their own, so that equal ones are no duplicates. */
  const saveMessages = async (scope: string, from: number, to: number, content: string) => {
    await db.sql(
      'L',
      `insert into public.packet_store (envelope, packet_type, project_id, scope, thread_id)
       select jsonb_build_object('content', replace($1, '$n', i::text)), 'message', $2, $3, gen_random_uuid()
       from generate_series($4::int, $5) i`,
      [content, project_id, scope, from, to],
    );
    await embedPending(db, model);
  };
  const idsOfSimilar = async () => {
    const args = {
      content: repeated,
      scope: 'developer',
      project_id,
      branch: null,
      kind: 'message',
      org_id: null,
      user_id: null,
      content_vector: model.vectorOf(repeated),
      model: model.name,
    };
    const rows = await db.sql(
      'C',
      `select packet_id from duplicates.find_similar(${named(args)})`,
      Object.values(args),
    );
    return rows.map(({ packet_id }) => packet_id);
  };

  it('includes equally near memories only if all of them are among the ten nearest', async () => {
    await serveModel(db, model);
    // These win by words, because they repeat them, and are neither similar nor near.
    const minutes = `Minutes number $n quote: ${repeated} ${repeated} Nobody objected, and everyone went home early.`;
    await saveMessages('developer', 1, 60, minutes);
    await saveMessages('developer', 1, 10, repeated);
    const ten = await idsOfSimilar();
    expect(ten).toHaveLength(10);
    await saveMessages('l-private', 1, 40, repeated);
    expect(await idsOfSimilar()).toStrictEqual(ten);

    await saveMessages('developer', 11, 11, repeated);
    expect(await idsOfSimilar()).toStrictEqual([]);
  });
});
