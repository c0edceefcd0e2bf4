// What a chat model extracts waits for a review where an administrator says so: as one memory, whose facts count once it is approved.

import { fact, factsOf, setSettings, store } from '../extraction/support.ts';
import { errorOf } from '../support/errors.ts';
import { callUpdateMemory, saveMemory, storedMemories } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { addColleague, decide, reads } from './support.ts';

describe('an extraction that needs a review', () => {
  const db = useTestDatabase({ rollsBack: true });
  const answer = {
    entities: [{ name: 'mast', type: 'spar', confidence: 0.9 }],
    facts: [fact('mast', 'oak')],
    relations: [{ source: 'mast', type: 'part of', target: 'ship', confidence: 0.5 }],
  };
  const extract = async (content: string) => {
    const source = await saveMemory(db, 'C', { content });
    expect(await store(db, source, answer)).toStrictEqual({ is_stored: true, facts: 0, relations: 0, dropped: 0 });
    const [proposal] = await db.asSuperuser(
      "select packet_id as id, content, review_state, scope, project_id from public.packet_store where packet_type = 'extraction' and $1 = any (parent_ids)",
      [source],
    );
    return { source, proposal };
  };
  beforeAll(async () => {
    await addColleague(db);
    await setSettings(db, { is_enabled: true, kinds: ['note'] });
    await db.sql('L', 'select public.set_generated_review(extraction => true)');
  });

  it('is a memory that only reviewers see, and states nothing', async () => {
    const { source, proposal } = await extract('The mast is oak.');
    expect(proposal).toMatchObject({
      content: 'mast is a spar\nmast is: oak\nmast part of ship',
      review_state: 'pending',
      scope: 'developer',
      project_id: 'l9',
    });
    expect(await factsOf(db, source)).toStrictEqual([]);
    expect(await Promise.all(['L', 'C', 'D'].map((caller) => reads(db, caller, proposal.id)))).toStrictEqual([
      true,
      false,
      false,
    ]);
  });

  it('states its facts from the memory that was read when it is approved', async () => {
    const { source, proposal } = await extract('The mast is of oak.');
    await decide(db, proposal.id, 'approved');
    expect(await factsOf(db, source)).toMatchObject([
      { subject: 'mast', object: 'oak', extracted_by: 'a-model' },
      { subject: 'mast', object: 'spar', extracted_by: 'a-model' },
    ]);
    expect(await db.sql('D', 'select creator, source_packet from public.entity_relationships')).toStrictEqual([
      { creator: 'Cursor-IDE', source_packet: source },
    ]);
    const [{ text_creator }] = await db.asSuperuser(
      'select text_creator from public.packet_store where packet_id = $1',
      [source],
    );
    expect(text_creator).toBeNull();
    // Another text takes them back, as it does without a review.
    await callUpdateMemory(db, 'C', source, { content: 'The mast is gone.' });
    expect(await factsOf(db, source)).toStrictEqual([]);
  });

  it('goes with the memory that was read, with its text, and with the next extraction', async () => {
    const deleted = await extract('The keel is oak.');
    await db.sql('C', 'select public.delete_memory($1)', [deleted.source]);
    const changed = await extract('The deck is oak.');
    await callUpdateMemory(db, 'C', changed.source, { content: 'The deck is pine.' });
    const repeated = await extract('The hull is oak.');
    await store(db, repeated.source, { facts: [fact('hull', 'oak')] });
    expect(
      await storedMemories(
        db,
        [deleted, changed, repeated].map(({ proposal }) => proposal.id),
      ),
    ).toStrictEqual([]);
  });

  it('cannot be made up by a caller', async () => {
    const { source } = await extract('The rudder is oak.');
    await db.sql('L', "select public.set_review_rule(true, caller => 'C', kinds => '{note}')");
    const id = await saveMemory(db, 'C', {
      content: 'The rudder is mine',
      envelope: {
        on_approval: { statement: 'extract', arguments: { packet_id: source, extraction: answer, model: 'mine' } },
      },
    });
    expect(await errorOf(decide(db, id, 'approved'))).toMatchObject({ code: 'L9VAL', column: 'envelope.on_approval' });
    expect(await factsOf(db, source)).toStrictEqual([]);
  });
});
