// `l9-memory save`, `search`, `list`, `show`, `edit`, `delete`, `facts` and `keys` against a real gateway.
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { runCommand, runCommandHere } from '../support/command.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ embedder: standIn });
});
afterAll(() => gateway.close());

const command = (args: string[], stdin = '') =>
  (stdin ? runCommand : runCommandHere)([...args, '--url', gateway.instance.url], { home: gateway.home.home, stdin });

const succeeds = async (args: string[], stdin = '') => {
  const { code, out, err } = await command(args, stdin);
  expect(code, err).toBe(0);
  return out;
};

const saved = async (...args: string[]) =>
  (JSON.parse(await succeeds(['save', '--json', ...args])) as { memory: { packetId: string; projectId: string } })
    .memory;

describeOnEmbedded('l9-memory save and search', () => {
  it('saves the words of the command line and finds them again', async () => {
    const out = await succeeds(['save', '--project', 'shop', 'The', 'canary', 'deploys', 'on', 'Fridays.']);
    const [, id] = /^saved ([0-9a-f-]{36}), note in developer, shop\n$/.exec(out)!;
    expect(await succeeds(['search', '--project', 'shop', 'canary'])).toMatch(
      new RegExp(`^note in developer, shop by \\S+, .*${id}\n {2}The \\*\\*canary\\*\\* deploys on Fridays\\.\n$`),
    );
    expect(await succeeds(['save', '--project', 'shop', 'the CANARY deploys on fridays.'])).toContain(
      `known already: ${id}`,
    );
    expect(await succeeds(['search', '--project', 'elsewhere', 'canary'])).toContain('there are memories in shop');
  });

  it('reads the text of standard input, and fields of a kind', async () => {
    expect(await succeeds(['save', '--project', 'shop', '-'], 'A text\nof two lines.\n')).toMatch(/^saved /);
    const fields = [
      '--field',
      'title=Use queues',
      '--field',
      'status=accepted',
      '--field',
      'rationale=They are simple.',
    ];
    const decision = await saved('--project', 'shop', '--kind', 'decision', ...fields);
    expect(await succeeds(['show', decision.packetId])).toMatch(/^status +accepted$/m);
  });

  it('passes on what the server notices', async () => {
    expect(await succeeds(['save', '--project', 'shop', '--kind', 'desicion', 'We chose queues.'])).toContain(
      'did you mean decision?',
    );
    const { out, err } = await command(['search', '--project', 'elsewhere', '--json', 'canary']);
    expect({ out, err }).toStrictEqual({ out: '', err: expect.stringContaining('there are memories in shop') });
  });

  it('takes the project of the working copy where none is given', async () => {
    expect((await saved('A text without a project.')).projectId).toMatch(/^[\w.-]+$/);
  });

  it('names the field that is wrong, and saves nothing', async () => {
    for (const [args, reason] of [
      [['save', '--project', 'shop'], /^content: /],
      [['save', '--project', 'shop', '--kind', 'No kind', 'text'], /^kind: /],
      [['save', '--project', 'shop', '--field', 'title', 'text'], /^--field: write name=value/],
      [['search', '--limit', '0', 'text'], /^--limit: a whole number from 1 to 100/],
      [['list', '--limit', 'many'], /^--limit: /],
      [['show', 'nonsense'], /^id: must be a UUID/],
      [['delete', 'nonsense', '--yes'], /^id: must be a UUID/],
      [['keys', 'revoke', 'nonsense'], /^id: must be a UUID/],
      [['review', 'approve', 'nonsense'], /^id: must be a UUID/],
      [['search', '--mode', 'semantics', 'text'], /^mode: must be one of hybrid, /],
      [['search', '--since', 'yesterday', 'text'], /^since: must be a time as in 2026-12-31T23:59:59Z/],
      [['keys', 'craete'], /^error: unknown command 'craete'\n\(Did you mean create\?\)/],
      [['edit', '00000000-0000-7000-8000-000000000000', '--text', 'new'], /does not exist, or is not yours/],
    ] as const) {
      const { code, err } = await command([...args]);
      expect({ code, err: reason.test(err) ? 'the reason' : err }).toStrictEqual({ code: 1, err: 'the reason' });
    }
  });
});

describeOnEmbedded('l9-memory list and show', () => {
  it('lists the newest first, page by page, up to the limit', async () => {
    for (let n = 0; n < 3; n++) await saved('--project', 'listed', `Number ${n} of the list.`);
    const rows = (await succeeds(['list', '--project', 'listed', '--limit', '2', '--json'])).trim().split('\n');
    expect(rows.map((row) => JSON.parse(row).content)).toStrictEqual([
      'Number 2 of the list.',
      'Number 1 of the list.',
    ]);
    const lines = (await succeeds(['list', '--project', 'listed'])).trimEnd().split('\n');
    expect(lines).toHaveLength(4);
    expect(lines[1]).toMatch(/ note +developer, listed +Number 2 of the list\.$/);
    expect(await succeeds(['list', '--project', 'listed', '--kind', 'todo'])).toBe(
      'There are no memories of kind todo in project listed.\n',
    );
  });

  it('prints nothing of a memory that acts on a terminal', async () => {
    const { packetId } = await saved(
      '--project',
      'hostile',
      '--tags',
      'x',
      'red \u001b[31m and \u202e turned\nnext line',
    );
    for (const out of [
      await succeeds(['show', packetId]),
      await succeeds(['list', '--project', 'hostile']),
      await succeeds(['search', '--project', 'hostile', 'red']),
      await succeeds(['list', '--project', 'hostile', '--json']),
    ]) {
      expect(out).not.toContain('\u001b');
      expect(out).toContain('next line');
    }
  });

  it('ends quietly where its reader has seen enough', async () => {
    const answer = await succeeds(['save', '--json', '--project', 'long', '-'], 'a word '.repeat(100_000));
    const { packetId } = (JSON.parse(answer) as { memory: { packetId: string } }).memory;
    const { url, home } = { url: gateway.instance.url, home: gateway.home.home };
    for (const args of [
      ['show', packetId],
      ['list', '--project', 'long', '--json'],
      ['export', '-'],
    ]) {
      const { err } = await runCommand([...args, '--url', url], { home, closesStdout: true });
      expect(err).not.toMatch(/EPIPE|Error/);
    }
  });

  it('shows only what the caller may read', async () => {
    const { packetId } = await saved(
      '--caller',
      'L',
      '--scope',
      'l-private',
      '--project',
      'shop',
      'A private canary of L.',
    );
    const { code, out, err } = await command(['show', packetId, '--caller', 'C']);
    expect({ code, out }).toStrictEqual({ code: 1, out: '' });
    expect(err).toBe(`memory ${packetId} does not exist, or is not yours\n`);
    expect(await succeeds(['list', '--all-projects', '--limit', '100000', '--json', '--caller', 'C'])).not.toContain(
      'private canary',
    );
    // The person at this machine may read all.
    expect(await succeeds(['show', packetId])).toContain('A private canary of L.');
  });
});

describeOnEmbedded('l9-memory edit and delete', () => {
  it('changes the text and keeps the rest', async () => {
    const { packetId } = await saved('--project', 'shop', '--tags', 'a,b', 'The port is 5433.');
    expect(await succeeds(['edit', packetId, '--text', 'The port is 5432.'])).toBe(`changed ${packetId}\n`);
    const out = await succeeds(['show', packetId]);
    expect(out).toContain('The port is 5432.');
    expect(out).toMatch(/^tags +a, b$/m);
  });

  it('deletes only after a confirmation', async () => {
    const { packetId } = await saved('--project', 'shop', 'It goes soon.');
    const refused = await command(['delete', packetId]);
    expect({ code: refused.code, err: refused.err }).toStrictEqual({
      code: 1,
      err: '--yes: confirm the deletion, since there is no terminal to ask at\n',
    });
    expect(await succeeds(['delete', packetId, '--yes'])).toBe(`deleted ${packetId}\n`);
    expect((await command(['show', packetId])).code).toBe(1);
  });
});

describeOnEmbedded('l9-memory facts', () => {
  it('prints what is known of a subject', async () => {
    await gateway.call('C', 'assert_fact', {
      subject: 'billing-api',
      predicate: 'runs on',
      object: 'port 8080',
      scope: 'global',
    });
    expect(await succeeds(['facts', 'billing-api'])).toMatch(/billing-api +runs on +port 8080 +0\.\d\d/);
    expect(await succeeds(['facts', 'nobody'])).toBe('No facts were found.\n');
  });
});

describeOnEmbedded('l9-memory keys', () => {
  it('prints a key once, lists it without its secret, and revokes it', async () => {
    const made = JSON.parse(
      await succeeds(['keys', 'create', 'laptop', '--of', 'C', '--project', 'shop', '--json']),
    ) as { apiKey: string; keyId: string };
    const ask = () =>
      fetch(`${gateway.instance.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${made.apiKey}` },
        body: '{"query":"{ whoAmI { caller } }"}',
      });
    expect((await ask()).status).toBe(200);
    const listed = await succeeds(['keys', 'list']);
    expect(listed).toContain(made.keyId);
    expect(listed).not.toContain(made.apiKey);
    expect(await succeeds(['keys', 'revoke', made.keyId])).toBe(`revoked ${made.keyId}\n`);
    expect((await ask()).status).toBe(401);
    expect((await command(['keys', 'list', '--caller', 'C'])).code).toBe(1);
  });
});
