// A gateway and a folder of files for tests of `l9-memory import`, and what was saved of them.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand, runCommandHere } from '../../support/command.ts';
import { useTestGateway } from '../../support/gateway.ts';
import { standIn } from '../../support/stand-in.ts';

export const lines = (...records: (object | string)[]) =>
  records.map((record) => (typeof record === 'string' ? record : JSON.stringify(record))).join('\n');

export function useImports() {
  const gateway = useTestGateway({ embedder: standIn });
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'l9-import-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** In this process, unless it reads standard input. */
  const run = (args: string[], { stdin = '', home = gateway.home.home } = {}) =>
    stdin ? runCommand(['import', ...args], { home, stdin }) : runCommandHere(['import', ...args], { home });
  /** As a process of its own, which is what people run. */
  const runAlone = (args: string[]) => runCommand(['import', ...args], { home: gateway.home.home });

  return {
    gateway,
    folder: () => folder,
    /** Writes a file, and returns its path. */
    file(name: string, content: string | Uint8Array): string {
      const path = join(folder, name);
      writeFileSync(path, content);
      return path;
    },
    run,
    runAlone,
    /** Imports into a project of the server. */
    into: (project: string, ...args: string[]) => run(['--url', gateway.instance.url, '--project', project, ...args]),
    stored: (caller: string, query: string) =>
      gateway.sql(caller, `select * from public.packet_store where ${query} order by packet_id`),
    /** The memories of a project, a line for each, in the order of their threads and times. */
    async said(project: string) {
      const rows = await gateway.sql(
        'C',
        `select packet_type as kind, thread_id as thread, speaker, content,
           to_char("timestamp" at time zone 'UTC', 'HH24:MI:SS') as time
         from public.packet_store where project_id = $1 order by thread_id, "timestamp", packet_id`,
        [project],
      );
      return rows.map(({ kind, thread, speaker, time, content }) => [kind, thread, speaker, time, content].join(' | '));
    },
  };
}
