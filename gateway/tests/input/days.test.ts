// A day that is given without a time, in every field of every operation that holds a time, and on both APIs.
import { z } from 'zod';
import { operations } from '../../src/operations/index.ts';
import { readInput } from '../../src/operations/read-input.ts';
import { useTestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

const isTime = (schema: z.ZodType): boolean =>
  schema instanceof z.ZodISODateTime ||
  (schema instanceof z.ZodUnion && (schema.options as z.ZodType[]).some(isTime)) ||
  ('innerType' in schema.def && isTime(schema.def.innerType as z.ZodType));

describe('a day without a time', () => {
  const gateway = useTestGateway({ embedder: standIn });

  it('is its beginning in UTC in every operation, and its end in the fields that say until', () => {
    const read = operations.flatMap(({ name, input }) =>
      Object.entries((input as z.ZodObject).shape as Record<string, z.ZodType>)
        .filter(([, schema]) => isTime(schema))
        .map(([field]) => {
          const { [field]: time } = readInput(input, { [field]: '2026-03-01' }) as Record<string, string>;
          const expected = field.endsWith('until') ? '2026-03-02T00:00:00.000Z' : '2026-03-01T00:00:00.000Z';
          return time === expected ? `${name}.${field}` : `${name}.${field} is ${time}`;
        }),
    );
    expect(read.filter((line) => line.includes(' is '))).toStrictEqual([]);
    expect(read).toEqual(
      expect.arrayContaining([
        'search_memory.since',
        'search_memory.until',
        'search_memory.as_of',
        'memory_find.until',
        'query_cascade_memories.until',
        'save_memory.timestamp',
        'save_memory.ttl',
        'update_memory.ttl',
        'assert_fact.valid_from',
        'find_facts.valid_at',
        'summarize.valid_until',
      ]),
    );
  });

  it('finds what happened on that day and on no other', async () => {
    const at = (timestamp: string) => ({ content: `It rained at ${timestamp}.`, project_id: 'rain', timestamp });
    for (const time of ['2026-02-28T23:59:59Z', '2026-03-01', '2026-03-01T23:59:59.5Z', '2026-03-02'])
      await gateway.call('C', 'save_memory', at(time));
    const day = { project_id: 'rain', since: '2026-03-01', until: '2026-03-01' };
    const onDay = ['It rained at 2026-03-01.', 'It rained at 2026-03-01T23:59:59.5Z.'];
    const search = await gateway.call('C', 'search_memory', day);
    expect(search.hits.map(({ content }: { content: string }) => content).toSorted()).toStrictEqual(onDay);
    const find = await gateway.call('C', 'memory_find', day);
    expect(find.hits.map(({ snippet }: { snippet: string }) => snippet).toSorted()).toStrictEqual(onDay);
  });

  it.each([
    '2026-02-30',
    '2026-3-1',
    '2026-13-01',
    '0000-01-01',
  ])('is refused if there is none, as %s', async (since) => {
    await expect(gateway.call('C', 'search_memory', { since })).rejects.toThrow(/since: must be a time/);
  });
});
