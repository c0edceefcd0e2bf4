// memory_find over MCP and GraphQL, with the bundled model.
import { useTestGateway } from '../support/gateway.ts';

describe('memory_find over the APIs', () => {
  const gateway = useTestGateway();
  beforeAll(async () => {
    await gateway.save('C', 'The kitten sleeps on the warm windowsill all afternoon.', { tags: ['pets'] });
    await gateway.save('C', 'Invoices are numbered without gaps by nextInvoiceNumber().', {
      kind: 'ruling',
      envelope: { status: 'accepted', component: 'billing' },
    });
    await gateway.save('C', 'nextInvoiceNumber() takes a lock.', { kind: 'note' });
    await gateway.save('C', 'nextInvoiceNumber() is slow on Mondays.', { kind: 'note' });
    await gateway.embedded();
  });

  const find = (args: object) => gateway.call('C', 'memory_find', args);

  it('finds by meaning what shares no word with the query, by itself', async () => {
    const { hits, searched } = await find({ query: 'young cat resting' });
    expect(hits[0].snippet).toMatch(/^The kitten/);
    expect(searched).toMatchObject({ mode: 'auto', route_used: 'hybrid', vectors: 'used' });
    expect(hits[0]).not.toHaveProperty('content');
    const deep = await find({ query: 'young cat resting', mode: 'deep' });
    expect(deep.searched).toMatchObject({ route_used: 'deep', vectors: 'used' });
    expect((await find({ query: 'young cat resting', mode: 'fast' })).hits).toStrictEqual([]);
  });

  it('looks an identifier up by its words, and goes on to meaning where too few have it', async () => {
    const { hits, searched } = await find({ query: 'nextInvoiceNumber' });
    expect([hits.length, searched.route_used, searched.vectors]).toStrictEqual([3, 'fast', 'not asked for']);
    const [decision] = hits.filter(({ kind }: { kind: string }) => kind === 'ruling');
    expect(decision.fields).toStrictEqual({ status: 'accepted', component: 'billing' });
    const few = await find({ query: 'nextInvoiceNumber', kinds: ['ruling'] });
    expect([few.searched.route_used, few.searched.vectors]).toStrictEqual(['fast, then deep', 'used']);
    expect(few.hits.map(({ kind }: { kind: string }) => kind)).toStrictEqual(['ruling']);
  });

  it('answers GraphQL and the older name alike, with hits that take feedback', async () => {
    const { memoryFind } = await gateway.query(
      'C',
      `{ memoryFind(query: "nextInvoiceNumber", where: {status: "accepted"}, mode: fast) {
        hits { packetId accessId confidence memory { content } } searched { routeUsed scopes } } }`,
    );
    expect(memoryFind.searched).toStrictEqual({ routeUsed: 'fast', scopes: ['developer', 'global'] });
    expect(memoryFind.hits.length).toBe(1);
    expect(memoryFind.hits[0].memory.content).toMatch(/^Invoices/);
    const older = await gateway.call('C', 'memory.find', { query: 'nextInvoiceNumber', mode: 'fast' });
    expect(older.hits.length).toBe(3);
    const { accessId } = memoryFind.hits[0];
    const feedback = await gateway.tool('C', 'record_feedback', { access_id: accessId, was_useful: true });
    expect(feedback.isError, feedback.text).toBeFalsy();
  });

  it('is more confident of what answers the question than of what does not', async () => {
    const { hits } = await find({ query: 'where does the kitten sleep in the afternoon?' });
    expect(hits[0].snippet).toMatch(/kitten/);
    expect(hits[0].confidence).toBeGreaterThan(0.4);
    const off = await find({ query: 'minutes of the meeting about Danish fishing quotas', mode: 'deep' });
    for (const { confidence } of off.hits) expect(confidence).toBeLessThan(0.2);
    const other = await gateway.tool('C', 'memory_find', { query: 'nextInvoiceNumber', kinds: ['memo'], mode: 'fast' });
    expect(other.text).toMatch(/Try kind "note": it finds 2\. Try kind "ruling": it finds 1\./);
    const { text } = await gateway.tool('C', 'memory_find', { query: 'zzyzx', mode: 'fast' });
    expect(text).toMatch(/Nothing found: searched developer, global \(fast\)/);
  });

  it('names the argument that it refuses', async () => {
    for (const [args, message] of [
      [{ query: 'x', mode: 'hybrid' }, /L9VAL.*mode/],
      [{ query: '' }, /L9VAL.*query/],
      [{}, /L9VAL.*query/],
      [{ query: 'x', k: 101 }, /L9VAL.*k: .*from 1 to 100/],
      [{ query: 'x', tag: 'y' }, /L9VAL.*tag/],
    ] as const)
      expect((await gateway.tool('C', 'memory_find', args)).text).toMatch(message);
  });
});
