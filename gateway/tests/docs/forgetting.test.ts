// What docs/how-to/erase-memories.md says to run, runs.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { serverUrl } from '../../../db/tests/support/engine.ts';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { itOnServer } from '../../../db/tests/support/on-engine.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'how-to', 'erase-memories.md'), 'utf8');
const blocks = [...page.matchAll(/^```sql\n([\s\S]*?)^```/gm)].map(([, sql]) => sql!);
const vacuum = blocks.find((block) => block.includes('vacuum full'))!;
const statementsOf = (block: string) =>
  block
    .replace(/--.*$/gm, '')
    .split(';')
    .map((statement) => statement.trim())
    .filter(Boolean);

describe('docs/how-to/erase-memories.md', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway.close());

  it('erases a memory and a subject as the page shows', async () => {
    const { result } = await gateway.tool('C', 'save_memory', {
      content: 'to be erased by the book',
      project_id: 'l9',
    });
    const [memory, subject] = statementsOf(blocks[0]!);
    const shown = /'([0-9a-f-]{36})'/;
    const [erased] = await gateway.sql('L', memory!.replace(shown, `'${result.memory.packet_id}'`));
    expect(erased.memories).toBe(1);
    const user = shown.exec(subject!)![1]!;
    await gateway.sql('C', "select public.save_memory('a subject''s own', project_id => 'l9')", [], {
      'jwt.claims.user_id': user,
    });
    expect((await gateway.sql('L', subject!))[0].memories).toBe(1);
  });

  itOnServer('removes the bytes from the files, while a transaction elsewhere has read the roles', async () => {
    const word = 'zquhwvk';
    const { result } = await gateway.tool('C', 'save_memory', { content: `the word ${word}`, project_id: 'l9' });
    await gateway.tool('C', 'update_memory', { packet_id: result.memory.packet_id, content: `again the word ${word}` });
    await gateway.embedded();
    await gateway.sql('L', "select public.erase_memory($1, 'a test')", [result.memory.packet_id]);
    await gateway.asSuperuser(
      "do $$ begin execute format('alter database %I owner to l9_owner', current_database()); end $$",
    );
    // A session of another database: with the rights of a superuser, `vacuum full` would wait for it, and every login for that.
    const other = new pg.Client({ connectionString: serverUrl! });
    await other.connect();
    await other.query('begin; select from pg_roles');
    const erased = gateway.inSuperuserSession(async (client) => {
      const where = async () => {
        await client.query('set session authorization l9_owner');
        for (const statement of statementsOf(vacuum)) await client.query(statement);
        await client.query('reset session authorization');
        await client.query('checkpoint');
        const { rows } = await client.query(
          `select c.oid::regclass::text as name
           from pg_class c, pg_relation_filepath(c.oid) as path
           where c.relpersistence = 'p' and pg_relation_size(c.oid) > 0
             and position(convert_to($1, 'UTF8') in pg_read_binary_file(path)) > 0`,
          [word],
        );
        return rows;
      };
      // A transaction that is open meanwhile, such as a job's, could still see them, so they are kept for it.
      await eventually(async () => (await where()).length === 0);
    });
    await erased.finally(() => other.end());
  });
});
