// Messages that are not as they should be: over stdio, too, each that has an id is answered, and the connection lives.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createTestHome } from '../support/home.ts';

describe('MCP over stdio', () => {
  it('answers what is no request, and goes on', async () => {
    const home = await createTestHome();
    const cli = join(import.meta.dirname, '..', '..', 'src', 'cli.ts');
    const child = spawn(process.execPath, [cli, 'mcp', '--caller', 'C'], {
      env: { ...process.env, ...home.env, PORT: '0' },
    });
    const answers: { id: number | null; error?: { code: number } }[] = [];
    let rest = '';
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      const lines = (rest + part).split('\n');
      rest = lines.pop()!;
      answers.push(...lines.map((line) => JSON.parse(line)));
    });
    const ping = (id: number) => `{"jsonrpc":"2.0","id":${id},"method":"ping"}`;
    const lines = ['{"id":2,"method":"ping"}', '{"jsonrpc":"2.0","id":3,"method":"ping","params":[1]}', 'nonsense'];
    child.stdin.write(`\uFEFF${ping(1)}\n${lines.join('\n')}\n[${ping(4)},${ping(5)}]\n`);
    child.stdin.write(`${'x'.repeat(33 * 1024 * 1024)}\n${ping(6)}\n`);
    child.stdin.end();
    await new Promise((resolve) => child.once('close', resolve));
    const refused = answers.filter(({ error }) => error).map(({ id, error }) => [id, error!.code]);
    expect(refused).toStrictEqual([
      [2, -32600],
      [3, -32602],
      [null, -32700],
      [null, -32600],
    ]);
    expect(
      answers
        .filter(({ error }) => !error)
        .map(({ id }) => id)
        .sort(),
    ).toStrictEqual([1, 4, 5, 6]);
    await home.drop().catch(() => {});
  });
});
