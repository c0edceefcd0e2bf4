import { z } from 'zod';
import { object, whole } from './fields.ts';
import { graphqlTypes } from './graphql-types.ts';
import { callForRow, defineOperation } from './operation.ts';

const estimate = z
  .object({
    bytes: z.number().describe('The size of one copy.'),
    redundancy: z.int().describe('How many copies are kept.'),
    connector: z.string().describe('The kind of store.'),
    one_off_cost: z.number().nullable().describe('The cost of storing all copies once. null: unknown, see reason.'),
    monthly_cost: z
      .number()
      .nullable()
      .describe('The cost of keeping all copies for a month. null: unknown, see reason.'),
    currency: z.string().nullable(),
    price: object
      .nullable()
      .describe('The price that was used, with its day (priced_on) and price_list. null: none is set.'),
    reason: z.string().nullable().describe('Why a cost is null.'),
    disclaimer: z.string(),
  })
  .register(graphqlTypes, { name: 'StorageCost', description: 'What it would cost to store and keep some bytes.' });

export const estimateStorageCost = defineOperation({
  name: 'estimate_storage_cost',
  title: 'Estimate the cost of storage',
  toolSet: 'archive',
  description:
    'Estimate what it costs to archive a session of this size, or an archived one, from the prices that your tenant set.',
  input: z.strictObject({
    // Int of GraphQL ends at 2 GB.
    bytes: z
      .number()
      .min(0, 'from 0 to 10^15')
      .max(1e15, 'from 0 to 10^15')
      .refine(Number.isInteger, 'must be a whole number')
      .nullish()
      .describe('The size of one copy.'),
    pointer: z.string().nullish().describe('Instead of bytes: an archive.'),
    redundancy: whole(1, 100).nullish().describe('How many copies are kept. Default: 1, or as it is stored.'),
    connector: z
      .string()
      .nullish()
      .describe('The kind of store: postgres, file, s3, http. Default: postgres, or as it is stored.'),
  }),
  output: estimate,
  isReadOnly: true,
  run: (client, input) => callForRow(client, 'estimate_storage_cost', input),
  summarize: ({ bytes, redundancy, connector, one_off_cost, monthly_cost, currency, reason }) => {
    const cost = (value: number | null) => (value === null ? 'unknown' : `${value} ${currency}`);
    const what = `${redundancy} × ${bytes} bytes in ${connector}`;
    return `${what}: once ${cost(one_off_cost)}, monthly ${cost(monthly_cost)}.${reason ? ` ${reason}.` : ''}`;
  },
});
