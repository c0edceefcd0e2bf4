// What docs/how-to/review-memories.md says to run, runs.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from '../support/command.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';
import { runBlocks } from './blocks.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'how-to', 'review-memories.md'), 'utf8');

describe('docs/how-to/review-memories.md', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
  });
  afterAll(() => gateway.close());

  const review = (line: string, ids: Record<string, string> = {}) => {
    const args = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? ids[plain!] ?? plain!);
    return runCommand([...args.slice(1), '--url', gateway.instance.url], { home: gateway.home.home });
  };

  it('sets rules in SQL as it says', async () => {
    const answers = await runBlocks(gateway, page);
    expect(answers.flat()).toEqual(
      expect.arrayContaining([
        { needs_review: true, caller: 'C', scope: 'global' },
        { kinds: ['extraction'] },
        { kinds: ['reflection'] },
      ]),
    );
  });

  it('sets rules and decides on the command line as it says', async () => {
    const [, block] = /^```sh\n([\s\S]*?)^```/m.exec(page)!;
    for (const line of block!.trim().split('\n')) {
      const { code, err } = await review(line);
      expect(code, `${line}: ${err}`).toBe(0);
    }
    const ids = await Promise.all(
      ['one', 'two', 'three', 'four'].map((content) => gateway.save('C', content, { scope: 'global' })),
    );
    await gateway.sql('L', 'select public.approve_memory($1)', [ids.slice(2)]);
    const named = { ID: ids[0]!, 'ID…': ids[1]!, KEEP: ids[2]!, 'OTHER…': ids[3]! };
    const lines = [...page.matchAll(/`(l9-memory review [a-z]+ [^`]*)`/g)].map(([, line]) => line!);
    expect(lines).toHaveLength(6);
    for (const line of lines) {
      const { code, err } = await review(line, named);
      expect(code, `${line}: ${err}`).toBe(0);
    }
  });
});
