import { eventually } from '../../../../db/tests/support/eventually.ts';
import { createLogger } from '../../../src/base/logger.ts';
import { openTerminal } from '../../../src/commands/support/terminal.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { createProcessHome, main } from '../../home/processes.ts';

const CLEAR = '\r\u001b[K';

function fakeStream(isTTY: boolean) {
  const written: string[] = [];
  const stream = { isTTY, write: (text: string | Uint8Array) => written.push(String(text)) > 0 };
  return { stream, written };
}

describe('the output of the server', () => {
  it('shows the current step and its duration in one progress line, then removes it', () => {
    const { stream, written } = fakeStream(true);
    let now = 0;
    const terminal = openTerminal(stream, () => now);
    terminal.doing('opening the database');
    now = 4_200;
    terminal.doing('building the GraphQL schema');
    terminal.done();
    expect(written).toEqual([
      `${CLEAR}l9-memory: opening the database …`,
      `${CLEAR}l9-memory: building the GraphQL schema … 4 s`,
      CLEAR,
    ]);
  });

  it('prints a warning of the log above the progress line, as readable text', () => {
    const { stream, written } = fakeStream(true);
    const terminal = openTerminal(stream);
    const logger = createLogger('warn', terminal.log);
    terminal.doing('opening the database');
    logger.info('not shown');
    logger.warn({ attempts: 3, model: 'm', content: 'secret' }, 'a provider is down');
    terminal.done();
    expect(written).toEqual([
      `${CLEAR}l9-memory: opening the database …`,
      CLEAR,
      expect.stringMatching(/^\d\d:\d\d:\d\d warn {2}a provider is down, attempts=3, model=m, content=\[redacted\]\n$/),
      `${CLEAR}l9-memory: opening the database …`,
      CLEAR,
    ]);
  });

  it('prints each step on its own line if the stream is not a terminal', () => {
    const { stream, written } = fakeStream(false);
    const terminal = openTerminal(stream);
    terminal.doing('opening the database');
    terminal.doing('building the GraphQL schema');
    terminal.done();
    expect(written).toEqual(['l9-memory: opening the database …\n', 'l9-memory: building the GraphQL schema …\n']);
  });

  it.each([
    [{}, true, 'pretty', 'warn'],
    [{}, false, 'json', 'info'],
    [{ LOG_FORMAT: 'json' }, true, 'json', 'info'],
    [{ LOG_FORMAT: 'pretty' }, false, 'pretty', 'warn'],
    [{ LOG_LEVEL: 'debug' }, true, 'pretty', 'debug'],
  ])('follows %j, at a terminal: %s, with format %s and level %s', (env, isTerminal, logFormat, logLevel) => {
    expect(loadConfig(env, isTerminal)).toMatchObject({ logFormat, logLevel });
  });

  it('consists of JSON lines in a file, the last of which says where everything is', async () => {
    const home = await createProcessHome();
    try {
      const server = await home.serve([], { LOG_LEVEL: 'info' });
      await eventually(() => server.stdout.includes('l9-memory is ready'));
      const lines = server.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect(lines.at(-1)).toMatchObject({
        msg: 'l9-memory is ready',
        GraphQL: `${server.url}/graphql`,
        editor: `${server.url}/`,
        MCP: `${server.url}/mcp`,
        data: home.home,
      });
    } finally {
      await home.close();
    }
  });

  it('consists of a banner only, in the pretty format, once the server is ready', async () => {
    const home = await createProcessHome();
    try {
      // A database without credentials beside it would be warned of.
      home.key('C');
      const server = home.run([main], { LOG_LEVEL: '', LOG_FORMAT: 'pretty' });
      await eventually(() => server.stdout.includes('psql'));
      const { stdout, stderr } = server;
      expect(stderr).toBe('');
      expect(stdout).toMatch(/^(l9-memory: [\w ]+ …\n)+l9-memory is ready\.\n( {2}\w+ +\S.*\n)+$/);
      expect(stdout).toMatch(/^ {2}token +npm run token -- --caller C$/m);
    } finally {
      await home.close();
    }
  });
});
