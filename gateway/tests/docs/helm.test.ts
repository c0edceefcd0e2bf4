// The Helm chart, rendered by helm itself: `.ci/helm install` gets it, which CI does.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load, loadAll } from 'js-yaml';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { environment, isSecret } from '../../src/config/environment.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const chart = join(root, 'deploy', 'helm', 'l9-memory');
const read = (...path: string[]) => readFileSync(join(...path), 'utf8');
const values = load(read(chart, 'values.yaml')) as {
  env: object;
  secret: { keys: string[] };
  migration: { secret: { keys: string[] } };
};

/** The path of helm, or null if it is not there. */
function helmPath(): string | null {
  try {
    return execFileSync('bash', [join(root, '.ci', 'helm'), 'path'], { encoding: 'utf8' }).trim();
  } catch {
    return null;
  }
}

interface Container {
  name: string;
  image: string;
  command?: string[];
  env: { name: string; value?: string }[];
  securityContext: Record<string, unknown>;
  volumeMounts: { name: string; mountPath: string; readOnly?: boolean }[];
  ports?: { name: string; containerPort: number }[];
  [probe: `${string}Probe`]: { httpGet: { path: string; port: string } };
}
interface Pod {
  securityContext: Record<string, unknown>;
  terminationGracePeriodSeconds: number;
  containers: [Container];
  volumes: { name: string; secret?: { secretName: string; items: { key: string }[] }; emptyDir?: object }[];
}
interface Rendered {
  apiVersion: string;
  kind: string;
  metadata: { name: string; annotations?: Record<string, string> };
  // biome-ignore lint/suspicious/noExplicitAny: each kind has another form, and tests look at what they asked for
  spec: any;
}

describe('the chart', () => {
  it('is of the version of the package, and names variables and secrets of the gateway only', () => {
    const { version } = JSON.parse(read(root, 'package.json'));
    expect(load(read(chart, 'Chart.yaml'))).toMatchObject({ version, appVersion: version });
    expect(Object.keys(values.env).filter((name) => !(name in environment.shape))).toStrictEqual([]);
    const keys = [...values.secret.keys, ...values.migration.secret.keys];
    expect(keys.filter((name) => !isSecret(name))).toStrictEqual([]);
    expect(read(chart, 'README.md')).toMatch(new RegExp(keys.map((key) => `(?=[\\s\\S]*${key}=)`).join('')));
  });
});

const helm = helmPath();
(helm ? describeOnEmbedded : describe.skip)('helm, which `.ci/helm install` gets', () => {
  const run = (...args: string[]) => spawnSync(helm!, args, { encoding: 'utf8' });
  const render = (...settings: string[]): Map<string, Rendered> => {
    const { status, stdout, stderr } = run(
      'template',
      'l9-memory',
      chart,
      ...settings.flatMap((one) => ['--set', one]),
    );
    expect(status, stderr).toBe(0);
    return new Map((loadAll(stdout) as Rendered[]).map((one) => [one.kind, one]));
  };
  const podOf = ({ spec }: Rendered): Pod => spec.template.spec;

  it('finds no fault in it', () => {
    const { status, stdout, stderr } = run('lint', '--strict', chart);
    expect(status, stdout + stderr).toBe(0);
  });

  it('renders what the schemas of Kubernetes and of the operator of Prometheus allow', async () => {
    /** Raises what the schema of this document refuses. */
    const validate = async (document: Rendered) => {
      const models =
        document.kind === 'ServiceMonitor' ? '@kubernetes-models/prometheus-operator' : 'kubernetes-models';
      const { [document.kind]: Model } = await import(`${models}/${document.apiVersion}/${document.kind}`);
      new Model(document).validate();
    };
    const all = [
      ...render().values(),
      ...render(
        'autoscaling.enabled=true',
        'serviceMonitor.enabled=true',
        'allowedHosts={memory.example.org}',
      ).values(),
    ];
    expect(new Set(all.map(({ kind }) => kind)).size).toBe(6);
    for (const document of all) {
      await validate(document);
      const wrong = structuredClone(document);
      if (document.kind === 'PodDisruptionBudget') wrong.spec.selector = 'a text';
      else wrong.spec = 'a text';
      await expect(validate(wrong), document.kind).rejects.toThrow();
    }
    const deployment = structuredClone(render().get('Deployment')!);
    deployment.spec.template.spec.containers[0].livenessProbe.httpGet.port = true;
    await expect(validate(deployment)).rejects.toThrow(/livenessProbe/);
  });

  it('starts the gateway as the image does, with probes and secrets as files, on a file system that is read-only', () => {
    const all = render();
    expect([...all.keys()].sort()).toStrictEqual(['Deployment', 'Job', 'PodDisruptionBudget', 'Service']);
    const pod = podOf(all.get('Deployment')!);
    const [gateway] = pod.containers;
    const { version } = JSON.parse(read(root, 'package.json'));
    expect(read(root, 'deploy/compose/docker-compose.yml')).toContain(
      gateway.image.replace(version, `\${L9_MEMORY_VERSION:-${version}}`),
    );
    expect(gateway.command, 'which is that of the image').toBeUndefined();
    expect(gateway.ports).toStrictEqual([{ name: 'http', containerPort: 9001 }]);
    const paths = ['startupProbe', 'readinessProbe', 'livenessProbe'] as const;
    expect(paths.map((name) => gateway[name]!.httpGet)).toStrictEqual([
      { path: '/ready', port: 'http' },
      { path: '/ready', port: 'http' },
      { path: '/health', port: 'http' },
    ]);
    expect(gateway.env.filter(({ name }) => name.endsWith('_FILE'))).toStrictEqual(
      values.secret.keys.map((key) => ({ name: `${key}_FILE`, value: `/run/secrets/l9-memory/${key}` })),
    );
    expect(pod.volumes.find(({ name }) => name === 'secret')!.secret!.items.map(({ key }) => key)).toStrictEqual(
      values.secret.keys,
    );
    const known = (name: string) => name in environment.shape || isSecret(name.replace(/_FILE$/, ''));
    expect(gateway.env.filter(({ name }) => !known(name))).toStrictEqual([]);
    expect(new Set(gateway.env.map(({ name }) => name)).size).toBe(gateway.env.length);
  });

  it('gives neither the gateway nor the job more rights than it needs', () => {
    const all = render();
    for (const kind of ['Deployment', 'Job']) {
      const pod = podOf(all.get(kind)!);
      expect(pod.securityContext, kind).toMatchObject({ runAsNonRoot: true, runAsUser: 1000 });
      expect(pod.containers[0].securityContext, kind).toStrictEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      const home = pod.containers[0].env.find(({ name }) => name === 'L9_MEMORY_HOME')!.value!;
      const writable = pod.containers[0].volumeMounts.filter(({ readOnly }) => !readOnly);
      expect(
        writable.some(({ mountPath }) => home.startsWith(mountPath)),
        kind,
      ).toBe(true);
    }
    const named = (kind: string) => JSON.stringify(all.get(kind));
    expect(named('Deployment')).not.toMatch(/ROOT_DATABASE_URL|L9_OWNER_PASSWORD|l9-memory-setup/);
  });

  it('sets the database up before the gateways start, with the command and the variables of deploy/compose', () => {
    const job = render().get('Job')!;
    expect(job.metadata.annotations).toMatchObject({ 'helm.sh/hook': 'pre-install,pre-upgrade' });
    const compose = load(read(root, 'deploy/compose/docker-compose.yml')) as {
      services: { setup: { command: string[]; environment: Record<string, string> } };
    };
    const { command, environment: variables } = compose.services.setup;
    expect(podOf(job).containers[0].command).toStrictEqual(command);
    expect(values.migration.secret.keys.filter((key) => !(key in variables))).toStrictEqual([]);
    expect(render('migration.enabled=false').has('Job')).toBe(false);
  });

  it('adds an autoscaler by calls in flight and a monitor where they are wanted, and answers probes under listed names', () => {
    const all = render('autoscaling.enabled=true', 'serviceMonitor.enabled=true', 'allowedHosts={memory.example.org}');
    const { metrics, scaleTargetRef } = all.get('HorizontalPodAutoscaler')!.spec;
    expect(metrics[0].pods.metric.name).toBe('l9_calls_in_flight');
    expect(scaleTargetRef.name).toBe(all.get('Deployment')!.metadata.name);
    expect(all.get('Deployment')!.spec.replicas).toBeUndefined();
    const { selector, endpoints } = all.get('ServiceMonitor')!.spec;
    expect(endpoints[0].authorization.credentials).toStrictEqual({ name: 'l9-memory', key: 'METRICS_KEY' });
    for (const other of [all.get('Service')!.spec.selector, all.get('PodDisruptionBudget')!.spec.selector.matchLabels])
      expect(other).toStrictEqual(selector.matchLabels);
    const [gateway] = podOf(all.get('Deployment')!).containers;
    const names = gateway.env.map(({ name }) => name);
    expect(names.indexOf('POD_IP')).toBeLessThan(names.indexOf('ALLOWED_HOSTS'));
    expect(gateway.env.find(({ name }) => name === 'ALLOWED_HOSTS')!.value).toBe('memory.example.org,$(POD_IP)');
  });

  it.each([
    'replicas=-1',
    'replicaCount=2',
    'secret.keys={PATH}',
    'service.type=ExternalName',
    'env.lower=x',
  ])('refuses the value %s', (setting) => {
    const { status, stderr } = run('template', 'l9-memory', chart, '--set', setting);
    expect(status).not.toBe(0);
    expect(stderr).toMatch(/values don't meet the specifications of the schema/);
  });
});
