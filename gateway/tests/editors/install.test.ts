// The settings of editors, in fake homes. `__snapshots__` holds what an install writes for each editor, as golden files.
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import type { Launch, Place } from '../../src/editors/editor.ts';
import { editors } from '../../src/editors/index.ts';
import { entriesOf, planInstall, planUninstall } from '../../src/editors/plan.ts';
import { SKILL } from '../../src/editors/skill.ts';
import { runCommand } from '../support/command.ts';
import { treeOf } from '../support/tree.ts';

const launch: Launch = {
  command: '/usr/bin/node',
  args: ['/opt/l9-memory/bin/l9-memory.cjs'],
  home: null,
  platform: 'linux',
};
const on = (platform: NodeJS.Platform, project: string | null = null): Place => ({
  ...{ home: '/home/ann', project, platform },
  env: platform === 'win32' ? { APPDATA: '/home/ann/AppData/Roaming' } : {},
});

// A skipped golden file counts as obsolete, and an obsolete one fails CI: these run on both engines, without a database.
describe.each(editors.map((editor) => [editor.name, editor] as const))('the file of the editor %s', (_, editor) => {
  it('gives the settings of the golden file', () => {
    expect(
      entriesOf(editor, editor.changes(on('linux'), launch)!).filter(({ text }) => text !== SKILL),
    ).toMatchSnapshot();
  });

  it('names the places of each system and of a project', () => {
    const filesOf = (place: Place) => [...new Set(editor.changes(place, launch)?.map(({ file }) => file))];
    expect({
      linux: filesOf(on('linux')),
      darwin: filesOf(on('darwin')),
      win32: filesOf(on('win32')),
      project: filesOf(on('linux', '/srv/site')),
    }).toMatchSnapshot();
  });
});

it('quotes the words of a hook for the shell, and leaves a program with blanks to PATH on Windows', () => {
  const commandOn = (platform: NodeJS.Platform, command: string, script: string) => {
    const changes = editors[0]!.changes(on(platform), { command, args: [script], home: null, platform })!;
    return JSON.stringify(changes.find(({ kind }) => kind === 'item'));
  };
  expect(commandOn('linux', '/opt/my node/node', "/home/o'neil/l9-memory.cjs")).toContain(
    JSON.stringify("'/opt/my node/node' '/home/o'\\''neil/l9-memory.cjs' hook claude-code SessionStart").slice(1, -1),
  );
  expect(commandOn('win32', 'C:\\Program Files\\nodejs\\node.exe', 'C:\\Users\\Ann B\\l9-memory.cjs')).toContain(
    JSON.stringify('node "C:\\Users\\Ann B\\l9-memory.cjs" hook claude-code SessionStart').slice(1, -1),
  );
});

it('offers a skill of at most 600 words', () => {
  expect(SKILL.split(/\s+/).length).toBeLessThanOrEqual(600);
});

describeOnEmbedded('l9-memory install', () => {
  let home: string;
  let folder: string;
  const HOME = process.env.HOME;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'l9-editors-'));
    home = join(folder, 'user');
    mkdirSync(home);
    process.env.HOME = home;
  });
  afterEach(() => {
    if (HOME === undefined) delete process.env.HOME;
    else process.env.HOME = HOME;
    rmSync(folder, { recursive: true, force: true });
  });
  const run = (...args: string[]) => runCommand([...args, '--no-key'], { home: join(folder, 'l9') });
  const path = (name: string) => join(home, name);
  const write = (name: string, text: string, mode = 0o644) => {
    mkdirSync(dirname(path(name)), { recursive: true });
    writeFileSync(path(name), text);
    chmodSync(path(name), mode);
  };
  const read = (name: string) => readFileSync(path(name), 'utf8');

  const EXISTING: [string, string, number?][] = [
    [
      '.claude.json',
      '{\n  // mine\n  "numStartups": 4,\n  "mcpServers": { "other": { "command": "x", "env": { "API_KEY": "sk-of-another" } } },\n}',
      0o600,
    ],
    [
      '.claude/settings.json',
      '{"hooks":{"SessionEnd":[{"hooks":[{"type":"command","command":"bell"}]}]},"model":"opus"}\n',
    ],
    ['.cursor/mcp.json', '{\r\n\t"mcpServers": {\r\n\t\t"b": { "command": "b" }\r\n\t}\r\n}\r\n'],
    ['.cursor/hooks.json', '{ "version": 1, "hooks": {} }'],
    ['.codex/config.toml', 'model = "gpt" # the best\n\n[mcp_servers.other]\ncommand = "y"', 0o640],
    ['.config/Code/User/mcp.json', '\uFEFF{\n    "servers": {}\n}\n'],
    ['.gemini/settings.json', ''],
    ['.config/Claude/claude_desktop_config.json', '{}'],
    ['.codeium/windsurf/mcp_config.json', '{"mcpServers":{"l9-memory":{"command":"my-own"}}}'],
    ['.config/opencode/opencode.jsonc', '{\n  "$schema": "https://opencode.ai/config.json", // its schema\n}\n'],
  ];

  it('sets all editors up that it finds, changes nothing the second time, and uninstall leaves every byte as it was', async () => {
    for (const [name, text, mode] of EXISTING) write(name, text, mode);
    const before = treeOf(home);
    const first = await run('install', 'all');
    expect({ code: first.code, err: first.err }).toStrictEqual({ code: 0, err: '' });
    expect(first.out.match(/ is set up: /g)).toHaveLength(8);
    expect(first.out).not.toContain('sk-of-another');
    expect(read('.claude.json')).toContain('// mine');
    expect(read('.codex/config.toml').startsWith(EXISTING[4]![1])).toBe(true);
    expect(JSON.parse(read('.claude/settings.json')).hooks.SessionEnd[0].hooks[0].command).toBe('bell');
    expect(statSync(path('.codex/config.toml')).mode & 0o777).toBe(0o640);
    expect(statSync(path('.codex/config.toml.l9-memory-backup')).mode & 0o777).toBe(0o600);
    expect(statSync(path('.claude/skills')).mode & 0o777).toBe(0o700);

    const installed = treeOf(home);
    const second = await run('install', 'all');
    expect(second.out.trim().split('\n')).toStrictEqual(editors.map(({ title }) => `${title}: Nothing to change.`));
    expect(treeOf(home)).toStrictEqual(installed);

    const undone = await run('uninstall', 'all');
    expect({ code: undone.code, err: undone.err }).toStrictEqual({ code: 0, err: '' });
    expect(treeOf(home)).toStrictEqual(before);
  });

  it('removes only its own entries where a file was changed since', async () => {
    for (const [name, text, mode] of EXISTING) write(name, text, mode);
    await run('install', 'all');
    write('.claude.json', read('.claude.json').replace('"numStartups": 4', '"numStartups": 5'));
    write('.codex/config.toml', `${read('.codex/config.toml')}\n[mcp_servers.later]\ncommand = "z"\n`);
    write(
      '.config/Code/User/mcp.json',
      read('.config/Code/User/mcp.json').replace('"servers": {', '"inputs": [], "servers": {'),
    );
    write('.codeium/windsurf/mcp_config.json', `${read('.codeium/windsurf/mcp_config.json')}\n`);
    write('.cursor/skills/l9-memory/SKILL.md', 'mine');
    rmSync(path('.gemini/settings.json'));
    // A hook of an editor's own that was added meanwhile.
    const hooks = JSON.parse(read('.codex/hooks.json'));
    hooks.hooks.Stop = [{ hooks: [{ type: 'command', command: 'bell' }] }];
    write('.codex/hooks.json', JSON.stringify(hooks, null, 2));
    const { code, out } = await run('uninstall', 'all');
    expect(code).toBe(0);
    expect(out).toContain('SKILL.md: somebody changed it, so it stays.');
    expect(read('.claude.json')).toBe(EXISTING[0]![1].replace('4', '5'));
    expect(read('.codex/config.toml')).toBe(`${EXISTING[4]![1]}\n\n[mcp_servers.later]\ncommand = "z"\n`);
    expect(JSON.parse(read('.config/Code/User/mcp.json').slice(1))).toStrictEqual({ inputs: [], servers: {} });
    // The entry that ours took the place of is back.
    expect(read('.codeium/windsurf/mcp_config.json')).toBe(`${EXISTING[8]![1]}\n`);
    expect(JSON.parse(read('.codex/hooks.json'))).toStrictEqual({ hooks: { Stop: hooks.hooks.Stop } });
    expect(Object.keys(treeOf(home)).filter((name) => name.includes('backup'))).toStrictEqual([]);
  });

  it('brings entries of an earlier version up to date, and leaves hooks of others beside them alone', async () => {
    const old = { type: 'command', command: 'node /old/bin/l9-memory.cjs archive hook' };
    const bell = { type: 'command', command: 'bell l9-memory' };
    write(
      '.claude/settings.json',
      JSON.stringify({ hooks: { SessionEnd: [{ hooks: [bell] }, { hooks: [old] }, { hooks: [old] }] } }),
    );
    await run('install', 'claude-code');
    // An option that a user adds to a command is kept.
    write(
      '.claude/settings.json',
      read('.claude/settings.json').replace(/(hook claude-code SessionEnd[^"]*)/, '$1 --messages'),
    );
    expect((await run('install', 'claude-code')).out).toBe('Claude Code: Nothing to change.\n');
    const { SessionEnd } = JSON.parse(read('.claude/settings.json')).hooks;
    expect(SessionEnd).toMatchObject([
      { hooks: [bell] },
      { hooks: [{ command: expect.stringMatching(/ hook claude-code SessionEnd .*--messages$/) }] },
    ]);
  });

  it.each([
    ['.claude.json', '{\n  "mcpServers": {\n    "a": }\n}', 'line 3: it is not valid JSON'],
    ['.claude.json', '[]', 'line 1: it must hold a JSON object'],
    ['.claude.json', '{\n  "mcpServers": []\n}', 'line 2: mcpServers must be an object'],
    ['.claude/settings.json', '{\n"hooks": {\n"SessionStart": {}}}', 'line 3: hooks.SessionStart must be a list'],
    ['.claude.json', '{ "a": "\xff" }', 'it is not text in UTF-8'],
    ['.claude.json', '{ "mcpServers": {}, "mcpServers": {} }', 'one of its objects has the same key twice'],
  ])('refuses %s with %j by its name and line, and changes no file of that editor', async (name, text, cause) => {
    write(name, '');
    writeFileSync(path(name), Buffer.from(text, 'latin1'));
    const before = treeOf(home);
    const { code, err } = await run('install', 'claude-code');
    expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining(`${path(name)}: ${cause}`) });
    expect(treeOf(home)).toStrictEqual(before);
  });

  it.each([
    ['model = \n', 'line 1: it is not valid TOML'],
    ['a = 1\n[mcp_servers.l9-memory]\ncommand = "mine"\n', 'it has a table mcp_servers.l9-memory of its own'],
    ['mcp_servers = { x = { command = "y" } }\n', 'with the table of l9-memory it would not be valid TOML'],
  ])('refuses config.toml with %j, and goes on with the other editors', async (text, cause) => {
    write('.codex/config.toml', text);
    const { code, err, out } = await run('install', 'codex', 'cursor');
    expect(code).toBe(1);
    expect(err).toContain(cause);
    expect(read('.codex/config.toml')).toBe(text);
    expect(existsSync(path('.codex/hooks.json'))).toBe(false);
    expect(out).toContain('Cursor is set up');
  });

  it('follows links and keeps them, refuses what is read-only, and shows without writing', async () => {
    write('dotfiles/claude.json', '{}\n');
    write('.claude/settings.json', '{}\n', 0o444);
    symlinkSync('dotfiles/claude.json', path('.claude.json'));
    const before = treeOf(home);
    expect(await run('install', 'claude-code', '--dry-run')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^\+ {2}"mcpServers": \{$/m),
    });
    expect(await run('install', 'claude-code', '--print')).toMatchObject({
      code: 0,
      out: expect.stringContaining(SKILL),
    });
    expect(await run('install', 'claude-code')).toMatchObject({
      code: 1,
      err: expect.stringContaining('settings.json: it is read-only'),
    });
    expect(treeOf(home)).toStrictEqual(before);
    chmodSync(path('.claude/settings.json'), 0o644);
    await run('install', 'claude-code');
    expect(lstatSync(path('.claude.json')).isSymbolicLink()).toBe(true);
    expect(JSON.parse(read('dotfiles/claude.json')).mcpServers['l9-memory'].type).toBe('stdio');
    await run('uninstall', 'claude-code');
    expect(read('dotfiles/claude.json')).toBe('{}\n');
  });

  it('names the editors that it knows', async () => {
    expect(await run('install', 'emacs')).toMatchObject({
      code: 1,
      err: expect.stringContaining('emacs: one of claude-code, '),
    });
    expect(await run('install', 'all')).toMatchObject({
      code: 0,
      out: expect.stringContaining('None of these editors was found'),
    });
  });
});

it('finds nothing to undo where nothing was installed', () => {
  const place = on('linux', mkdtempSync(join(tmpdir(), 'l9-editors-')));
  for (const editor of editors) {
    const changes = editor.changes(place, launch);
    if (changes) expect(planUninstall(editor, changes, {})).toStrictEqual([]);
    if (changes) expect(planInstall(editor, changes).length).toBeGreaterThan(0);
  }
  rmSync(place.project!, { recursive: true });
});
