// The suite of the MCP project: what its scenarios for servers find, once in each version of the protocol that clients speak.
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expectFaults, refusedChecks, refusedScenarios } from './refused.ts';
import { startRelay, useServer } from './server.ts';

const suite = join(import.meta.dirname, 'node_modules', '@modelcontextprotocol', 'conformance', 'dist', 'index.js');
const listed = execFileSync(process.execPath, [suite, 'list', '--server'], { encoding: 'utf8' });
/** The versions that a scenario applies to, by its name. Those of extensions apply to none. */
const scenarios = new Map(
  [...listed.matchAll(/^ {2}- (\S+) \[(.*)\]$/gm)].map(([, name, versions]) => [name!, versions!.split(',')]),
);
// 2025-11-25 has what the earlier ones have.
const VERSIONS = ['2025-11-25', '2026-07-28'];
const scenariosOf = (version: string) => [...scenarios.keys()].filter((name) => scenarios.get(name)!.includes(version));

describe('the conformance suite of MCP', () => {
  const server = useServer();
  /** The ids of the checks that failed in any version. */
  const reported = new Set<string>();

  it('has scenarios of each version', () => {
    for (const version of VERSIONS) expect(scenariosOf(version).length, version).toBeGreaterThan(20);
  });

  describe.each(VERSIONS)('in version %s', (version) => {
    const faults = new Map<string, { id: string; text: string }[]>();
    const results = mkdtempSync(join(tmpdir(), 'l9-memory-conformance-'));
    afterAll(() => rmSync(results, { recursive: true }));

    beforeAll(async () => {
      const relay = await startRelay(server.url, server.headers);
      const args = ['server', '--url', `${relay.url}/mcp`, '--suite', 'all', '--spec-version', version];
      // It ends with 1 where any scenario fails, also those that we refuse.
      await new Promise<void>((resolve) =>
        execFile(process.execPath, [suite, ...args, '--output-dir', results], { timeout: 300_000 }, () => resolve()),
      );
      relay.close();
      for (const folder of readdirSync(results)) {
        const [, scenario] = /^server-(.*)-\d{4}-\d\d-\d\dT/.exec(folder) ?? [];
        const checks = JSON.parse(readFileSync(join(results, folder, 'checks.json'), 'utf8')) as {
          id: string;
          status: string;
          errorMessage?: string;
        }[];
        const failed = checks.filter(({ status }) => status === 'FAILURE');
        for (const { id } of checks) reported.add(id);
        faults.set(
          scenario!,
          failed.map(({ id, errorMessage }) => ({ id, text: `${id}: ${errorMessage}` })),
        );
      }
    });

    it.each(scenariosOf(version))('has the scenario %s', (scenario) => {
      expect(faults.has(scenario), 'the suite did not run it').toBe(true);
      const found = faults.get(scenario)!.filter(({ id }) => refusedChecks[id] === undefined);
      expectFaults(
        scenario,
        found.map(({ text }) => text),
        refusedScenarios,
      );
    });
  });

  // Some fail or pass by how long the suite waited, so passing is no proof that an entry is out of date.
  it('refuses no check that the suite lacks', () => {
    expect(Object.keys(refusedChecks).filter((id) => !reported.has(id))).toStrictEqual([]);
  });

  it('refuses no scenario that the suite lacks', () => {
    expect(Object.keys(refusedScenarios).filter((name) => !scenarios.has(name))).toStrictEqual([]);
  });
});
