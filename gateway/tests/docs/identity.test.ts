// docs/how-to/manage-identities.md, whose SQL is run as it is written.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

const page = readFileSync(
  join(import.meta.dirname, '..', '..', '..', 'docs', 'how-to', 'manage-identities.md'),
  'utf8',
);
const blocks = [...page.matchAll(/^```sql\n([\s\S]*?)^```/gm)].map(([, body]) => body!);
const login = `l9t_docs_${process.pid}_${Math.random().toString(36).slice(2, 8)}`;

describe('docs/how-to/manage-identities.md', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
    await gateway.asSuperuser(`create role ${login} login in role l9_agent`);
  });
  afterAll(async () => {
    await gateway.asSuperuser(`drop role if exists ${login}`);
    await gateway.close();
  });

  /** What psql does with a block, its \gset and variables included: the rows of each statement. */
  const run = (block: string, as: string) =>
    gateway.asLogin(as, async (session) => {
      const variables: Record<string, string> = {};
      const answers: Record<string, unknown>[][] = [];
      for (const [, statement, end] of block.matchAll(/([^;\\]+?)(;|\s*\\gset)\n?/g)) {
        const text = statement!.replace(/:'(\w+)'/g, (_match, name: string) => `'${variables[name]}'`);
        const { rows } = await session.query(text.replace('cursor_bot', login));
        answers.push(rows);
        if (end !== ';') Object.assign(variables, rows[0]);
      }
      return answers;
    });
  const block = (containing: string) => blocks.find((text) => text.includes(containing))!;

  it('has SQL that runs', async () => {
    expect(blocks).toHaveLength(4);
    const registered = await run(block('register_actor'), 'l9_gateway');
    expect(registered[5]).toStrictEqual([
      { caller: 'Figma', scope: 'design', may_read: true, may_write: true, may_change: 'own' },
      { caller: 'Figma', scope: 'developer', may_read: false, may_write: false, may_change: 'none' },
      { caller: 'Figma', scope: 'global', may_read: true, may_write: false, may_change: 'none' },
      { caller: 'Figma', scope: 'l-private', may_read: false, may_write: false, may_change: 'none' },
    ]);
    const users = await gateway.asSuperuser('select o.name as org, u.name from users u join orgs o using (org_id)');
    expect(users).toStrictEqual([{ org: 'Research', name: 'Ada' }]);
    expect(await run(block('deactivate_actor'), 'l9_gateway')).toHaveLength(6);
    await run(block('bind_login'), 'l9_owner');
    expect(await gateway.asSuperuser('select caller from actors where login = $1', [login])).toStrictEqual([
      { caller: 'Figma' },
    ]);
    const keys = await run(block('create_api_key'), 'l9_gateway');
    expect(String(keys[3]![0]!.api_key)).toMatch(/^l9_/);
    expect(await gateway.asSuperuser('select 1 from api_keys where revoked_at is not null')).toHaveLength(1);
  });

  it('names functions that there are', async () => {
    for (const [, name] of page.matchAll(/`((?:create|register|deactivate|reactivate|bind|revoke)_\w+)/g)) {
      const known = await gateway.asSuperuser(
        "select from pg_proc where pronamespace = 'public'::regnamespace and proname = $1",
        [name],
      );
      expect(known, name).toHaveLength(1);
    }
  });
});
