// The alerts of docker/monitoring, tested by Prometheus's own promtool: `.ci/promtool install` gets it, which CI does.
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const folder = join(root, 'docker', 'monitoring');
const read = (file: string) => readFileSync(join(folder, file), 'utf8');

/** The path of promtool, or null if it is not there. */
function promtoolPath(): string | null {
  try {
    return execFileSync('bash', [join(root, '.ci', 'promtool'), 'path'], { encoding: 'utf8' }).trim();
  } catch {
    return null;
  }
}

interface Rule {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string };
}

const { groups } = load(read('alerts.yml')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);

describe('an alert', () => {
  it('is loaded by the configuration of Prometheus, and has a severity and a summary', () => {
    expect((load(read('prometheus.yml')) as { rule_files: string[] }).rule_files).toStrictEqual(['alerts.yml']);
    for (const { alert, labels, annotations } of rules) {
      expect(['warning', 'critical'], alert).toContain(labels.severity);
      expect(annotations.summary, alert).toMatch(/^.{10,}\.$/);
    }
  });

  it('has a test that raises it and one in which it is silent, and a row in the how-to guide', () => {
    const { tests } = load(read('alerts.test.yml')) as {
      tests: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[];
    };
    const cases = tests.flatMap((one) => one.alert_rule_test);
    const testedBy = (isRaised: boolean) =>
      new Set(cases.filter((one) => one.exp_alerts.length > 0 === isRaised).map(({ alertname }) => alertname));
    const names = rules.map(({ alert }) => alert).sort();
    expect(names).toHaveLength(new Set(names).size);
    for (const isRaised of [true, false]) expect([...testedBy(isRaised)].sort()).toStrictEqual(names);
    const page = readFileSync(join(root, 'docs', 'how-to', 'operate.md'), 'utf8');
    expect(names.filter((name) => !page.includes(`\n| \`${name}\` |`))).toStrictEqual([]);
  });
});

const promtool = promtoolPath();
(promtool ? describeOnEmbedded : describe.skip)('promtool, which `.ci/promtool install` gets', () => {
  let scratch: string;
  beforeAll(() => {
    scratch = mkdtempSync(join(tmpdir(), 'l9-alerts-'));
    for (const file of ['alerts.yml', 'alerts.test.yml', 'prometheus.yml'])
      cpSync(join(folder, file), join(scratch, file));
  });
  afterAll(() => rmSync(scratch, { recursive: true }));
  const run = (...args: string[]) => spawnSync(promtool!, args, { cwd: scratch, encoding: 'utf8' });

  it('accepts the configuration and the rules', () => {
    const { status, stdout, stderr } = run('check', 'config', '--syntax-only', 'prometheus.yml');
    expect(status, stdout + stderr).toBe(0);
    const checked = run('check', 'rules', '--lint-fatal', 'alerts.yml');
    expect(checked.status, checked.stdout + checked.stderr).toBe(0);
  });

  it('finds that each alert is raised when it should be, and only then', () => {
    const { status, stdout, stderr } = run('test', 'rules', 'alerts.test.yml');
    expect(status, stdout + stderr).toBe(0);
  });

  it('finds a fault in each rule that asks for another value', () => {
    const changed = load(read('alerts.yml')) as { groups: { rules: Rule[] }[] };
    for (const rule of changed.groups.flatMap((group) => group.rules)) rule.expr = `(${rule.expr}) > 1e12`;
    writeFileSync(join(scratch, 'alerts.yml'), JSON.stringify(changed));
    const { status, stdout, stderr } = run('test', 'rules', 'alerts.test.yml');
    expect(status).toBe(1);
    expect(rules.filter(({ alert }) => !(stdout + stderr).includes(`alertname: ${alert}`))).toStrictEqual([]);
  });
});
