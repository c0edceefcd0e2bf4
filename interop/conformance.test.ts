// The suite of the MCP project: what its scenarios for servers find.
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expectFaults, refusedScenarios } from './refused.ts';
import { startRelay, useServer } from './server.ts';

const suite = join(import.meta.dirname, 'node_modules', '@modelcontextprotocol', 'conformance', 'dist', 'index.js');
const listed = execFileSync(process.execPath, [suite, 'list', '--server'], { encoding: 'utf8' });
const scenarios = [...listed.matchAll(/^ {2}- (\S+)/gm)].map(([, name]) => name!);

describe('the conformance suite of MCP', () => {
  const server = useServer();
  const faults = new Map<string, string[]>();
  const results = mkdtempSync(join(tmpdir(), 'l9-memory-conformance-'));
  afterAll(() => rmSync(results, { recursive: true }));

  beforeAll(async () => {
    const relay = await startRelay(server.url, server.headers);
    const args = [suite, 'server', '--url', `${relay.url}/mcp`, '--suite', 'all', '--output-dir', results];
    // It ends with 1 where any scenario fails, also those that we refuse.
    await new Promise<void>((resolve) => execFile(process.execPath, args, { timeout: 120_000 }, () => resolve()));
    relay.close();
    for (const folder of readdirSync(results)) {
      const [, scenario] = /^server-(.*)-\d{4}-\d\d-\d\dT/.exec(folder) ?? [];
      const checks = JSON.parse(readFileSync(join(results, folder, 'checks.json'), 'utf8')) as {
        id: string;
        status: string;
        errorMessage?: string;
      }[];
      const failed = checks.filter(({ status }) => status === 'FAILURE');
      faults.set(
        scenario!,
        failed.map(({ id, errorMessage }) => `${id}: ${errorMessage}`),
      );
    }
  });

  it.each(scenarios)('has the scenario %s', (scenario) => {
    expect(faults.has(scenario), 'the suite did not run it').toBe(true);
    expectFaults(scenario, faults.get(scenario)!, refusedScenarios);
  });

  it('refuses no scenario that the suite lacks', () => {
    expect(Object.keys(refusedScenarios).filter((name) => !scenarios.includes(name))).toStrictEqual([]);
  });
});
