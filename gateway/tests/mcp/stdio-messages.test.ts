// Messages that are not as they should be: over stdio, too, each that has an id is answered, and the connection lives.
import { cli, createProcessHome } from '../home/processes.ts';

const LINE_LIMIT = 32 * 1024 * 1024;

describe('MCP over stdio', () => {
  it('answers what is no request, and goes on', async () => {
    const home = await createProcessHome();
    // Only calls need a server, so that none is waited for.
    const editor = home.run([cli, 'mcp', '--caller', 'C']);
    const ping = (id: number, more = '') => `{"jsonrpc":"2.0","id":${id},"method":"ping"${more}}`;
    const deep = (id: number) =>
      `{"jsonrpc":"2.0","id":${id},"method":"tools/list","params":{"x":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`;
    const long = 'x'.repeat(LINE_LIMIT);
    const valid = [
      `\uFEFF${ping(1)}`,
      `\uFEFF${ping(2)}\r`,
      `[${ping(3)},${ping(4)}]`,
      ping(5, ',"result":{}'),
      ping(6, ',"trace":"of another protocol"'),
      ping(7, ',"params":null'),
      ping(8, ',"params":{"_meta":{"progressToken":null}}'),
      deep(9),
      '{"jsonrpc":"2.0","id":"a text","method":"ping"}',
    ];
    const refused: [line: string, id: number | string | null, code: number][] = [
      ['{"id":20,"method":"ping"}', 20, -32600],
      ['{"jsonrpc":"1.0","id":21,"method":"ping"}', 21, -32600],
      [ping(22, ',"params":[1]'), 22, -32602],
      [ping(23, ',"params":"a text"'), 23, -32602],
      [ping(24, ',"params":{"_meta":[]}'), 24, -32602],
      [ping(25, ',"params":{"_meta":{"progressToken":{}}}'), 25, -32602],
      ['{"jsonrpc":"2.0","id":26,"method":5}', 26, -32600],
      ['{"jsonrpc":"2.0","id":27,"method":5,"result":{}}', 27, -32600],
      ['{"jsonrpc":"2.0","id":28}', 28, -32600],
      ['{"jsonrpc":"2.0","id":29,"method":"no/such"}', 29, -32601],
      ['{"jsonrpc":"2.0","id":30,"method":"initialize","params":{}}', 30, -32602],
      ['{"jsonrpc":"2.0","id":null,"method":"ping"}', null, -32600],
      ['{"jsonrpc":"2.0","id":1.5,"method":"ping"}', null, -32600],
      ['{"jsonrpc":"2.0","id":{},"method":"ping"}', null, -32600],
      // An answer of the client to nothing: with its id the refusal would be taken for another answer.
      ['{"jsonrpc":"2.0","id":31,"result":null}', null, -32600],
      ['nonsense', null, -32700],
      ['"a text"', null, -32600],
      ['null', null, -32600],
      ['[]', null, -32600],
      ['[[]]', null, -32600],
      ['{"jsonrpc":"2.0","id":32,', null, -32700],
      [`{"jsonrpc":"2.0","id":33,"method":"tools/call","params":{"x":"${long}"}}`, 33, -32600],
      [`{"method":"tools/call","params":{"id":5,"x":"${long}"},"jsonrpc":"2.0","id":"34"}`, '34', -32600],
      [long + long, null, -32600],
    ];
    const lines = [...valid, ...refused.map(([line]) => line), ping(10)];
    for (const line of lines) editor.process.stdin!.write(`${line}\n`);
    // The last line has no line feed.
    editor.process.stdin!.end(ping(11));
    expect(await editor.exit).toBe(0);
    const answers: { id: number | string | null; error?: { code: number } }[] = editor.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const errors = answers.flatMap(({ id, error }) => (error ? [`${id} ${error.code}`] : []));
    expect(errors.sort()).toStrictEqual(refused.map(([, id, code]) => `${id} ${code}`).sort());
    const answered = answers.filter(({ error }) => !error).map(({ id }) => id);
    expect(answered.sort()).toStrictEqual([1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9, 'a text']);
    await home.close();
  });
});
