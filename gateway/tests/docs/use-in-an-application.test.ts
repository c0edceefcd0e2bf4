// docs/how-to/use-in-an-application.md and the README: the programs in TypeScript run as they are written, and print what the page shows.
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { L9Memory } from '../../../clients/typescript/src/index.ts';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { cheapEmbedder } from '../access/attacker.ts';
import { useTestGateway } from '../support/gateway.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const client = join(root, 'clients', 'typescript');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const page = read('docs/how-to/use-in-an-application.md');
const readme = read('README.md');
const manifest = JSON.parse(read('clients/typescript/package.json'));

/** The first fenced block of a language in the text, after a heading. */
const block = (text: string, language: string, heading: string) =>
  new RegExp(`^${heading}\\n[\\s\\S]*?^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'm').exec(text)![1]!;

describeOnEmbedded('docs/how-to/use-in-an-application.md', () => {
  const gateway = useTestGateway({ embedder: cheapEmbedder });
  // The schema is built at the first request, for which a client would not wait on a busy machine.
  beforeAll(() => gateway.query('C', '{ __typename }'));
  const folder = mkdtempSync(join(tmpdir(), 'l9-application-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  /** What a program prints that imports the client from its sources. */
  async function run(program: string) {
    const file = join(folder, 'program.ts');
    const source = pathToFileURL(join(client, 'src', 'index.ts')).href;
    writeFileSync(file, program.replace(`'${manifest.name}'`, `'${source}'`));
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    const env = { ...process.env, L9_URL: gateway.instance.url, L9_KEY: gateway.apiKey('C') };
    return (await promisify(execFile)(process.execPath, [file], { env })).stdout;
  }

  it('has a program of 20 lines that prints what the page shows', async () => {
    const program = block(page, 'ts', '## TypeScript');
    expect(program.split('\n').filter((line) => line.trim() !== '').length).toBeLessThanOrEqual(20);
    expect(await run(program)).toBe(block(page, 'text', '## TypeScript'));
  });

  it('is shown in the README by five lines that save and find', async () => {
    const program = block(readme, 'ts', '## In an application');
    expect(program.split('\n').filter((line) => line.trim() !== '')).toHaveLength(5);
    const there = program.replace('L9Memory({', `L9Memory({ url: '${gateway.instance.url}',`);
    expect(await run(there)).toBe('Returns are free for 30 days.\n');
  });

  it('names every method of the client, and every module that it exports', () => {
    const methods = Object.getOwnPropertyNames(L9Memory.prototype).filter((name) => name !== 'constructor');
    expect(methods.length).toBeGreaterThanOrEqual(13);
    for (const method of ['embedded', ...methods]) expect(page, method).toMatch(new RegExp(`\\b${method}\\b`));
    const modules = Object.keys(manifest.exports).filter((path) => path !== './package.json');
    for (const module of modules) expect(page, module).toContain(`'${manifest.name}${module.slice(1)}'`);
  });
});
