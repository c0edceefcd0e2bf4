// Rows in most tables, with and without a value in the columns that may be null, so that a hostile request has something to read.
import type { TestGateway } from '../support/gateway.ts';
import type { Known } from './values.ts';

export async function saveSomethingOfEverything(gateway: TestGateway): Promise<Known> {
  const project_id = 'l9';
  const decision = await gateway.save('L', 'Decided: the website goes out on Tuesdays.', {
    kind: 'finding',
    thread_id: 'a thread',
    tags: ['website'],
    ttl: '2099-01-01T00:00:00Z',
    envelope: { title: 'A decision' },
  });
  const notes = [
    await gateway.save('C', 'Ann: the billing service depends on the website.', {
      kind: 'message',
      thread_id: 'a thread',
    }),
    await gateway.save('C', 'The website has no owner.', { parent_ids: [decision] }),
    await gateway.save('C', 'Everyone reads the handbook.', { scope: 'global' }),
    await gateway.save('L', 'The website will be sold.', { scope: 'l-private' }),
  ];
  await gateway.call('C', 'update_memory', { packet_id: notes[1], content: 'The website has an owner: Ann.' });
  for (const object of ['Tuesday', 'Thursday']) {
    const { fact } = await gateway.call('C', 'assert_fact', {
      subject: 'website',
      predicate: 'goes out on',
      object,
      source_packet: notes[1],
    });
    notes.push(fact.fact_id);
  }
  await gateway.query(
    'C',
    `mutation ($id: UUID!) {
      relate(input: { source: "billing", type: "depends_on", target: "website", sourcePacket: $id }) { clientMutationId }
      reflectOnTask(input: {
        taskId: "a task", description: "Moved the website", outcome: "success", whatWorked: ["Asking first"], projectId: "l9"
      }) { clientMutationId }
    }`,
    { id: notes[0] },
  );
  await gateway.call('C', 'reflect', { content: 'Look at the calendar first.', priority: 'high', project_id });
  await gateway.call('C', 'update_world_model', {
    insight: {
      insight_type: 'observation',
      content: 'The website is up.',
      entities: [{ entity_id: 'website', entity_type: 'service', attributes: { is_up: true } }],
    },
    project_id,
  });
  await gateway.call('C', 'summarize', {
    scope_type: 'thread',
    scope_value: 'a thread',
    summary_text: 'It goes out on Tuesdays.',
    source_packet_ids: [decision, notes[0]],
    project_id,
  });
  const { hits } = await gateway.call('C', 'search_memory', { query: 'website', k: 4 });
  await gateway.call('C', 'record_feedback', { access_id: hits[0].access_id, was_useful: true });
  await gateway.embedded();
  return {
    ids: [decision, ...notes, hits[1].access_id],
    byName: {
      query: '"website"',
      content: '"The website is blue."',
      projectId: '"l9"',
      project_id: '"l9"',
      threadId: '"a thread"',
      entity: '"website"',
      subject: '"website"',
      predicate: '"goes out on"',
      k: '3',
      first: '3',
    },
  };
}
