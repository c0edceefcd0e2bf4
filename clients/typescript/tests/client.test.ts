// The client calls every method on a real gateway, and C learns nothing of the memories that it may not read.
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { cheapEmbedder } from '../../../gateway/tests/access/attacker.ts';
import { useTestGateway } from '../../../gateway/tests/support/gateway.ts';
import { L9Memory, type L9MemoryError, type L9MemoryOptions, type Memory } from '../src/index.ts';
import { collect } from './collect.ts';

const ABSENT = '0198aaaa-0000-7000-8000-000000000000';

describeOnEmbedded('the TypeScript client', () => {
  const gateway = useTestGateway({ embedder: cheapEmbedder });
  const clientOf = (caller: string, options: L9MemoryOptions = {}) =>
    new L9Memory({ url: gateway.instance.url, key: gateway.apiKey(caller), projectId: 'shop', ...options });
  const refused = (call: Promise<unknown>) =>
    call.then(
      () => {
        throw new Error('it was not refused');
      },
      (error: L9MemoryError) => error,
    );
  let memory: L9Memory;
  beforeAll(async () => {
    memory = clientOf('C');
    // The schema is built at the first request, for which a client would not wait on a busy machine.
    await gateway.query('C', '{ __typename }');
  });

  it('saves a text in its project, searches for it, and rates the hit', async () => {
    const saved = await memory.save('Returns are free for 30 days.');
    expect(saved.status).toBe('inserted');
    expect(saved.memory).toMatchObject({ kind: 'note', projectId: 'shop', content: 'Returns are free for 30 days.' });
    expect((await memory.save({ content: 'returns are FREE for 30 days.' })).status).toBe('skipped_dedupe');
    const { hits, searched } = await memory.search('how long are returns free?');
    expect(hits.map(({ packetId }) => packetId)).toStrictEqual([saved.memory.packetId]);
    expect(searched.filters).toMatchObject({ project_id: 'shop' });
    const rating = { accessId: hits[0]!.accessId, wasUseful: true, reason: 'it answered' };
    expect(await memory.feedback(rating)).toMatchObject({ ...rating, packetId: saved.memory.packetId });
  });

  it('updates a memory only as it was read, and deletes it', async () => {
    const { memory: first } = await memory.save({ content: 'The till opens at nine.', tags: ['till'] });
    const { packetId, updatedAt } = first;
    const { memory: changed } = await memory.update(packetId, {
      content: 'The till opens at ten.',
      expectedVersion: updatedAt,
    });
    expect(await memory.get(packetId)).toMatchObject({ content: 'The till opens at ten.', tags: ['till'] });
    const late = await refused(memory.update(packetId, { content: 'at eleven', expectedVersion: updatedAt }));
    expect([late.code, late.sqlstate]).toStrictEqual(['VERSION_CONFLICT', 'L9VER']);
    expect(late.current).toMatchObject({ packet_id: packetId, content: 'The till opens at ten.' });
    await memory.delete(packetId, { expectedVersion: changed.updatedAt });
    expect((await refused(memory.get(packetId))).code).toBe('NOT_YOURS');
  });

  it('says in an error what is wrong with which field', async () => {
    const wrong = await refused(memory.save({ content: 'x', importance: 2 }));
    expect(wrong.name).toBe('L9MemoryError');
    expect([wrong.code, wrong.field, wrong.status]).toStrictEqual(['INVALID_INPUT', 'importance', 200]);
    const secret = await refused(memory.save('The token is ghp_16C7e42F292c6912E7710c838347Ae178B4a.'));
    expect([secret.code, secret.field]).toStrictEqual(['SECRET_FOUND', 'content']);
    expect(secret.findings).toMatchObject([{ path: 'content', line: 1 }]);
    expect(JSON.stringify(secret)).not.toContain('ghp_');
    const unknown = await refused(clientOf('C', { key: 'a-key-that-nobody-has' }).save('x'));
    expect([unknown.code, unknown.status]).toStrictEqual(['UNAUTHENTICATED', 401]);
  });

  it('saves many at once, with the places of the items that were refused', async () => {
    const items = Array.from({ length: 5 }, (_, number) => ({ content: `Shelf ${number} is full.`, tags: ['shelf'] }));
    const { stored, errors } = await memory.saveMany([
      ...items,
      { kind: 'todo', data: { text: 'Fill the shelves', status: 'soon' } },
      { kind: 'todo', data: { text: 'Sweep the floor', status: 'open' } },
    ]);
    expect(stored.map(({ index }) => index)).toStrictEqual([0, 1, 2, 3, 4, 6]);
    const { memory: first } = await memory.save({ content: 'Shelf 0 is full.' });
    expect(stored[0]).toMatchObject({
      packetId: first.packetId,
      updatedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    });
    expect(errors).toMatchObject([{ index: 5, code: 'INVALID_INPUT', field: 'status' }]);
    const { hits } = await memory.find({ kinds: ['todo'], where: { status: 'open' } });
    expect(hits.map(({ fields }) => fields.text)).toStrictEqual(['Sweep the floor']);
    const none = await memory.saveMany([{ content: 'One of two.' }, { content: '' }], { allOrNothing: true });
    expect([none.stored.length, none.errors.length]).toStrictEqual([0, 1]);
  });

  it('lists page by page, as far as the loop goes, and goes on from a page', async () => {
    const list = memory.list({ filter: { kind: { equalTo: 'note' } }, pageSize: 2 });
    const shelves: Memory[] = [];
    for await (const note of list) if (note.tags.includes('shelf')) shelves.push(note);
    expect(shelves.map(({ content }) => content)).toStrictEqual(
      [0, 1, 2, 3, 4].map((number) => `Shelf ${number} is full.`),
    );
    const [first] = await collect(list.pages(), 1);
    expect(first!.items).toHaveLength(2);
    const rest = await collect(memory.list({ pageSize: 4, after: first!.next! }).pages());
    expect(rest.map(({ next }) => next === null)).toStrictEqual([false, true]);
    const [newest] = await collect(memory.list({ orderBy: ['CREATED_AT_DESC'], pageSize: 1 }), 1);
    expect(newest!.content).toContain('Sweep the floor');
  });

  it('lists what belongs to its project or to none, and with * everything', async () => {
    await clientOf('C', { projectId: 'bakery' }).save('The oven is hot.');
    await memory.save({ content: 'All shops close on Sundays.', scope: 'global' });
    const contents = async (options: object) =>
      (await collect(memory.list({ orderBy: ['CREATED_AT_DESC'], pageSize: 2, ...options }).pages()))[0]!.items.map(
        ({ content }) => content,
      );
    expect((await contents({}))[0]).toBe('All shops close on Sundays.');
    expect(await contents({})).not.toContain('The oven is hot.');
    expect(await contents({ projectId: 'bakery' })).toStrictEqual(['All shops close on Sundays.', 'The oven is hot.']);
    expect(await contents({ projectId: '*' })).toStrictEqual(['All shops close on Sundays.', 'The oven is hot.']);
  });

  it('relates entities, finds facts, and sends any other request', async () => {
    const relation = await memory.relate({ source: 'till', type: 'depends_on', target: 'network' });
    expect(relation).toMatchObject({ sourceEntity: 'till', relationshipType: 'depends_on', projectId: 'shop' });
    const { assertFact } = await memory.graphql<{ assertFact: { fact: { factId: string } } }>(
      'mutation ($fact: AssertFactInput!) { assertFact(input: $fact) { fact { factId } } }',
      { fact: { subject: 'till', predicate: 'runs on', object: 'Linux' } },
    );
    const facts = await memory.facts('till');
    expect(facts).toMatchObject([{ factId: assertFact.fact.factId, object: 'Linux', projectId: 'shop' }]);
    const wrong = await refused(memory.graphql('{ noSuchField }'));
    expect([wrong.code, wrong.status]).toStrictEqual(['INVALID_INPUT', 400]);
  });

  it('asks for a token for each request, and acts as whom it names', async () => {
    const callers = ['C', 'L'];
    const token = () => gateway.token({ caller: callers.shift()! });
    const client = clientOf('C', { key: undefined, token });
    const who = async () =>
      (await client.graphql<{ whoAmI: { caller: string } }>('{ whoAmI { caller } }')).whoAmI.caller;
    expect([await who(), await who()]).toStrictEqual(['C', 'L']);
    expect(() => new L9Memory({ key: 'k', token: 't' })).toThrow('key, token');
  });

  it('shows C no memory that only L may read', async () => {
    const content = 'The vault code changes at midnight.';
    const private_ = { scope: 'l-private', content };
    const { memory: hidden } = await clientOf('L').save(private_);
    const search = { query: 'vault code', mode: 'lexical' } as const;
    expect((await clientOf('L').search(search)).hits).toMatchObject([{ packetId: hidden.packetId }]);
    const { hits, nearest, searched } = await memory.search(search);
    expect([hits, nearest, searched.scopes]).toStrictEqual([[], [], ['developer', 'global']]);
    expect(JSON.stringify(await memory.find('vault code'))).not.toContain('vault code changes');
    expect(await collect(memory.list({ filter: { packetId: { equalTo: hidden.packetId } } }))).toStrictEqual([]);
    for (const call of [
      (id: string) => memory.get(id),
      (id: string) => memory.update(id, { content: 'mine' }),
      (id: string) => memory.delete(id),
    ]) {
      const [ofHidden, ofAbsent] = [await refused(call(hidden.packetId)), await refused(call(ABSENT))];
      expect(ofHidden.message.replace(hidden.packetId, ABSENT)).toBe(ofAbsent.message);
      expect([ofHidden.code, ofHidden.field, ofHidden.data]).toStrictEqual([
        ofAbsent.code,
        ofAbsent.field,
        ofAbsent.data,
      ]);
    }
    expect((await refused(memory.save(private_))).code).toBe('SCOPE_DENIED');
  });
});
