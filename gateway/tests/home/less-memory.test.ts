// The settings of memory that a process of the server has after its start.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';

const source = join(import.meta.dirname, '..', '..', 'src', 'commands', 'support', 'less-memory.ts');

(process.platform === 'linux' && 'execve' in process ? describeOnEmbedded : describe.skip)('a start on Linux', () => {
  const folder = mkdtempSync(join(tmpdir(), 'l9-less-memory-'));
  const script = join(folder, 'script.mjs');
  writeFileSync(
    script,
    `import { restartWithLessMemory } from ${JSON.stringify(source)};
    restartWithLessMemory();
    const { execArgv, argv, env } = process;
    console.log(JSON.stringify({ flags: execArgv, args: argv.slice(2), trim: env.MALLOC_TRIM_THRESHOLD_, cache: env.NODE_COMPILE_CACHE }));`,
  );
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** What the script says when Node starts with these flags and variables. */
  function start(flags: string[], env: Record<string, string> = {}) {
    const options = { env: { PATH: process.env.PATH!, HOME: folder, ...env }, encoding: 'utf8' } as const;
    return JSON.parse(execFileSync(process.execPath, [...flags, script, '--on-demand'], options));
  }

  it('limits the space of new objects and what the C library keeps, keeps compiled modules, and hands on flags and arguments', () => {
    expect(start(['--no-warnings'])).toStrictEqual({
      flags: ['--max-semi-space-size=8', '--no-warnings'],
      args: ['--on-demand'],
      trim: '131072',
      cache: join(folder, '.cache', 'l9-memory', 'compile-cache'),
    });
  });

  it('leaves settings as they are that somebody gave', () => {
    expect(start(['--max-semi-space-size=32'])).toMatchObject({ flags: ['--max-semi-space-size=32'], trim: '131072' });
    expect(start([], { NODE_OPTIONS: '--max-semi-space-size=32' })).toMatchObject({ flags: [], trim: '131072' });
    expect(start([], { MALLOC_TRIM_THRESHOLD_: '1' })).toMatchObject({ flags: [], trim: '1' });
    expect(start([], { NODE_COMPILE_CACHE: folder })).toMatchObject({ cache: folder });
  });
});
