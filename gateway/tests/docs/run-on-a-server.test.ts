// The unit and the secrets of docs/how-to/run-on-a-server.md.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/config/config.ts';

const project = join(import.meta.dirname, '..', '..', '..');
const page = readFileSync(join(project, 'docs', 'how-to', 'run-on-a-server.md'), 'utf8');
const block = (language: string) => new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'm').exec(page)![1]!;

function has(program: string): boolean {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

describe('the unit of systemd', () => {
  const unit = block('ini');
  const folder = mkdtempSync(join(tmpdir(), 'l9-unit-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  // Only machines with systemd can check it.
  (has('systemd-analyze') ? it : it.skip)('is one that systemd accepts', () => {
    const file = join(folder, 'l9-memory.service');
    // The program, the folder and the user of the example are not on this machine.
    writeFileSync(
      file,
      unit
        .replace('/usr/bin/node', process.execPath)
        .replace('WorkingDirectory=/opt/l9-memory', `WorkingDirectory=${project}`)
        .replace('User=l9-memory', 'User=root'),
    );
    const said = execFileSync('bash', ['-c', `systemd-analyze verify --man=no "${file}" 2>&1 || true`], {
      encoding: 'utf8',
    });
    expect(said.split('\n').filter((line) => line.includes('l9-memory.service'))).toStrictEqual([]);
  });

  it('gives the gateway settings that it understands, and secrets as files', () => {
    const settings = unit
      .split('\n')
      .filter((line) => line.startsWith('Environment='))
      .flatMap((line) => line.slice('Environment='.length).split(' '))
      .map((setting) => setting.split('=') as [string, string]);
    const secrets: Record<string, string> = {
      'database-url': 'postgres://l9_gateway:secret@127.0.0.1/l9_memory',
      'jwt-secret': 'a-secret-of-the-tests-that-is-long-enough-0123456789',
      'key-of-l': 'a-key-of-the-tests-of-L-0123456789-abcdefghij',
      'key-of-c': 'a-key-of-the-tests-of-C-0123456789-abcdefghij',
    };
    for (const [name, secret] of Object.entries(secrets)) writeFileSync(join(folder, name), `${secret}\n`);
    const loaded = [...unit.matchAll(/^LoadCredential=([^:]+):/gm)].map(([, name]) => name);
    expect(loaded).toStrictEqual(Object.keys(secrets));
    const config = loadConfig(Object.fromEntries(settings.map(([name, value]) => [name, value.replace('%d', folder)])));
    expect(config.databaseUrl).toBe(secrets['database-url']);
    expect(config.trustedProxies).toStrictEqual(['127.0.0.1']);
  });
});

it('names files for the secrets of compose under names that the gateway reads', () => {
  const names = [...block('yaml').matchAll(/^ +(\w+)_FILE: (\S+)$/gm)].map(([, name]) => name!);
  expect(names).toStrictEqual(['JWT_SECRET', 'MCP_API_KEY_C']);
  for (const name of names)
    expect(() => loadConfig({ [`${name}_FILE`]: '/not/there' })).toThrow(`${name}_FILE: the file cannot be read`);
});
