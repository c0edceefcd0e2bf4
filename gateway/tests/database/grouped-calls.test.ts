import { randomUUID } from 'node:crypto';
import { claimsOf } from '../../../db/tests/support/sessions.ts';
import { createGroupedCalls } from '../../src/database/grouped-calls.ts';
import type { RecordCall } from '../../src/database/transaction.ts';
import { useTestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describe('the writer of records that come together', () => {
  const gateway = useTestGateway({ embedder: standIn });

  const readBy = (caller: string, id: string, reference = ''): RecordCall => ({
    settings: { ...claimsOf(caller), 'jwt.claims.correlation_id': reference },
    values: [null, '{"packet_store": 1}', '{}', JSON.stringify([id]), null, 'developer'],
  });
  const recorder = () => createGroupedCalls(gateway.instance.database.pool, 'audit.audit_graphql_read');
  const rowsOf = (ids: readonly string[]) =>
    gateway.asSuperuser(
      'select row_id, caller, correlation_id, xid::text as transaction from audit_log where row_id = any ($1::uuid[]) order by audit_id',
      [ids],
    );
  const transactions = (rows: readonly { transaction: string }[]) =>
    new Set(rows.map(({ transaction }) => transaction)).size;
  const newIds = (count: number) => Array.from({ length: count }, () => randomUUID());

  it('writes each record about its own call, up to fifty in one transaction', async () => {
    const record = recorder();
    const ids = newIds(120);
    await Promise.all(ids.map((id, n) => record(readBy('C', id, n % 3 === 0 ? '' : `order-${n}`))));
    const rows = await rowsOf(ids);
    expect(rows.map(({ row_id, caller, correlation_id }) => ({ row_id, caller, correlation_id }))).toStrictEqual(
      ids.map((row_id, n) => ({ row_id, caller: 'C', correlation_id: n % 3 === 0 ? null : `order-${n}` })),
    );
    expect(transactions(rows)).toBe(3);
  });

  it('shares no transaction between callers', async () => {
    const record = recorder();
    const ids = newIds(20);
    await Promise.all(ids.map((id, n) => record(readBy(n % 2 === 0 ? 'C' : 'L', id))));
    const rows = await rowsOf(ids);
    expect(rows.filter(({ caller }) => caller === 'C').map(({ row_id }) => row_id)).toStrictEqual(
      ids.filter((_, n) => n % 2 === 0),
    );
    expect(rows.filter(({ caller }) => caller === 'L')).toHaveLength(10);
    for (const caller of ['C', 'L']) expect(transactions(rows.filter((row) => row.caller === caller))).toBe(1);
    expect(transactions(rows)).toBe(2);
  });

  it('lets each record fail for itself, and writes the others', async () => {
    const record = recorder();
    const ids = newIds(9);
    const refused: RecordCall = { ...readBy('C', randomUUID()), values: [null, '[]', '{}', '[]', null, null] };
    const results = await Promise.allSettled([
      ...ids.slice(0, 4).map((id) => record(readBy('C', id))),
      record(refused),
      ...ids.slice(4).map((id) => record(readBy('C', id))),
    ]);
    expect(results.map(({ status }) => status)).toStrictEqual(
      Array.from({ length: 10 }, (_, n) => (n === 4 ? 'rejected' : 'fulfilled')),
    );
    expect(results[4]).toMatchObject({ reason: { code: 'L9VAL' } });
    expect((await rowsOf(ids)).map(({ row_id }) => row_id).sort()).toStrictEqual([...ids].sort());
  });

  it('refuses records of a caller without an identity, and writes the next ones', async () => {
    const record = recorder();
    const ids = newIds(4);
    const unknown = ids.slice(0, 3).map((id) => record({ ...readBy('C', id), settings: claimsOf('nobody') }));
    for (const result of await Promise.allSettled(unknown))
      expect(result).toMatchObject({ status: 'rejected', reason: { code: 'L9AUT' } });
    await record(readBy('C', ids[3]!));
    expect((await rowsOf(ids)).map(({ row_id }) => row_id)).toStrictEqual([ids[3]]);
  });

  it('waits for the transaction that is under way, and no longer', async () => {
    const record = recorder();
    const ids = newIds(31);
    const [first, ...others] = ids;
    const begun = record(readBy('C', first!));
    // The first has begun by then.
    await Promise.resolve();
    await Promise.all([begun, ...others.map((id) => record(readBy('C', id)))]);
    const rows = await rowsOf(ids);
    expect(rows.map(({ row_id }) => row_id)).toStrictEqual(ids);
    expect(transactions(rows)).toBe(2);
    await record(readBy('C', first!));
    expect(await rowsOf([first!])).toHaveLength(2);
  });
});
