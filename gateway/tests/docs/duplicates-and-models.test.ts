// What docs/explanation/duplicates.md and docs/how-to/change-the-embedding-model.md say to run, runs.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { engine } from '../../../db/tests/support/engine.ts';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { createProcessHome, root } from '../home/processes.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

const statements = (file: string) =>
  [...readFileSync(join(root, 'docs', file), 'utf8').matchAll(/^```sql\n([\s\S]*?)^```/gm)]
    .flatMap(([, sql]) => sql!.split(';'))
    .map((statement) => statement.trim())
    .filter(Boolean);
const commands = (file: string) =>
  [...readFileSync(join(root, 'docs', file), 'utf8').matchAll(/^```sh\n([\s\S]*?)^```/gm)].flatMap(([, lines]) =>
    lines!.trim().split('\n'),
  );

describe('docs/explanation/duplicates.md and docs/how-to/change-the-embedding-model.md', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway.close());

  it('keeps, skips and merges similar memories as the page shows', async () => {
    const [keep, skip, merge] = statements('explanation/duplicates.md');
    // PostgreSQL's own names of the schema are on the path in psql.
    const run = (sql: string) => gateway.sql('C', sql.replace('save_memory', 'public.save_memory'));
    expect((await run(keep!))[0].status).toBe('inserted');
    expect((await run(skip!))[0].status).toBe('skipped_dedupe');
    expect(await run(merge!)).toStrictEqual([{ status: 'updated', tags: ['release'] }]);
  });

  it('shows the models as the page does', async () => {
    const [models, change] = statements('how-to/change-the-embedding-model.md');
    const { workerPool } = gateway.instance.database;
    expect((await workerPool.query(models!.replace('from ', 'from public.'))).rows).toStrictEqual([
      { model: 'all-MiniLM-L6-v2-int8', dimensions: 384, state: 'serving' },
    ]);
    expect((await workerPool.query(change!)).rows).toStrictEqual([]);
  });

  it('changes the model with a server running and without', async () => {
    const home = await createProcessHome();
    try {
      const server = await home.serve();
      const run = async (command: string) => {
        const running = home.run([join(root, command.split(' ')[1]!), ...command.split(' ').slice(2)]);
        return { exit: await running.exit, text: running.stdout + running.stderr };
      };
      const [show, stay, change] = commands('how-to/change-the-embedding-model.md') as [string, string, string];
      for (const command of [show, stay])
        expect(await run(command)).toStrictEqual({ exit: 0, text: 'all-MiniLM-L6-v2-int8 serves\n' });
      const changed = 'all-MiniLM-L6-v2-int8-float serves\n';
      expect(await run(change)).toStrictEqual({ exit: 0, text: `${changed}all-MiniLM-L6-v2-int8 is gone\n` });
      if (engine === 'embedded') {
        server.process.kill('SIGTERM');
        await server.exit;
        await eventually(() => home.pids().length === 0);
        expect(await run(show)).toStrictEqual({ exit: 0, text: changed });
      }
    } finally {
      await home.close();
    }
  });
});
