import { z } from 'zod';
import { uuid } from './fields.ts';
import { uuidText } from './graphql-types.ts';
import { call, defineOperation } from './operation.ts';
import { recalled } from './recalled.ts';

export const confirmAlias = defineOperation({
  name: 'confirm_alias',
  title: 'Confirm an alias',
  toolSet: 'admin',
  description: 'Admins: make an alias that an agent stated count for everyone who can read it.',
  input: z.strictObject({ alias_id: uuid.describe('The alias, as find_facts and explore_graph name it.') }),
  output: z.object({
    alias_id: uuidText(),
    alias: z.string(),
    entity: z.string(),
    creator: z.string().describe('Who stated it.'),
    confirmed_by: z.string(),
  }),
  isIdempotent: true,
  audit: 'UPDATE',
  run: (client, input) =>
    call(client, 'r.alias_id, r.alias, r.entity, r.creator, r.agent as confirmed_by', 'confirm_alias', input),
  recalls: () => true,
  summarize: ({ alias, entity }) =>
    `${recalled(alias)} is another name of ${recalled(entity)}, for everyone who can read the alias.`,
});
