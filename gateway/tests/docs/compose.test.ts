// The files of Docker Compose, read by Compose itself: `.ci/compose install` gets it, which CI does. No Docker is needed for that.
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { load } from 'js-yaml';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { environment } from '../../src/config/environment.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const ONE_MACHINE = 'deploy/compose/docker-compose.yml';
const FAILOVER = 'docker/ha/docker-compose.yml';
const read = (file: string) => readFileSync(join(root, file), 'utf8');

interface Service {
  build?: string | { context: string; dockerfile?: string };
  image: string;
  depends_on?: string[] | Record<string, { condition: string }>;
  environment?: Record<string, string>;
  volumes?: string[];
  healthcheck?: { test?: string[]; disable?: boolean };
  profiles?: string[];
}
const servicesOf = (file: string) => (load(read(file)) as { services: Record<string, Service> }).services;

// Other values than those of the image would not fit what this file mounts and publishes.
const OF_IMAGE = ['HOST', 'L9_MEMORY_HOME', 'METRICS_PORT', 'NODE_ENV'];
// One gateway, which no load balancer leaves out and which is stopped at once, and no pooler.
const OF_MANY = ['DATABASE_DIRECT_URL', 'DRAIN_SECONDS'];
const OF_SETUP = [
  'DATABASE_OWNER_URL',
  'ROOT_DATABASE_URL',
  'L9_OWNER_PASSWORD',
  'L9_GATEWAY_PASSWORD',
  'L9_BACKUP_PASSWORD',
];
const OF_COMMANDS = [
  ...['TARGET_DATABASE_URL', 'BACKUP_DATABASE_URL', 'BACKUP_PASSPHRASE', 'PSQL', 'LINGER_SECONDS', 'MCP_API_KEY'],
  ...['L9_PROJECT', 'L9_BRANCH', 'L9_ORG', 'CORTEX_PROJECT', 'CORTEX_BRANCH', 'CORTEX_ORG'],
];

describe.each([ONE_MACHINE, FAILOVER])('the file %s', (file) => {
  const services = Object.entries(servicesOf(file));

  it('builds and mounts what is there', () => {
    for (const [name, { build, volumes = [] }] of services) {
      const { context, dockerfile = 'Dockerfile' } = typeof build === 'object' ? build : { context: build };
      if (context) expect(existsSync(resolve(root, dirname(file), context, dockerfile)), name).toBe(true);
      for (const source of volumes.map((volume) => volume.split(':')[0]!).filter((path) => path.startsWith('.')))
        expect(existsSync(resolve(root, dirname(file), source)), source).toBe(true);
    }
  });

  it('names the images of this version', () => {
    const { version } = JSON.parse(read('package.json'));
    const own = services.map(([, { image }]) => image).filter((image) => image.startsWith('ghcr.io/l9-memory/'));
    expect(own.length).toBeGreaterThan(1);
    expect(own.filter((image) => !image.endsWith(`:\${L9_MEMORY_VERSION:-${version}}`))).toStrictEqual([]);
  });

  it('waits for services that there are, and whose health is checked where it waits for that', () => {
    for (const [name, { depends_on: needed = {} }] of services) {
      const all = Array.isArray(needed)
        ? needed.map((other) => [other, { condition: '' }] as const)
        : Object.entries(needed);
      for (const [other, { condition }] of all) {
        const service = servicesOf(file)[other];
        expect(service, `${name} waits for ${other}`).toBeDefined();
        if (condition === 'service_healthy') expect(service!.healthcheck?.test?.[0], other).toBe('CMD');
      }
    }
  });
});

describe('the file for one machine', () => {
  const { gateway, setup, prometheus, grafana } = servicesOf(ONE_MACHINE);

  it('hands every setting of .env to the gateway, but for those of commands and of the image', () => {
    const handed = Object.keys(gateway!.environment!);
    const others = [...OF_IMAGE, 'PORT', ...OF_MANY, ...OF_SETUP, ...OF_COMMANDS];
    const settings = Object.keys(environment.shape);
    expect(settings.filter((name) => !handed.includes(name)).sort()).toStrictEqual(others.sort());
    const known = [...settings, 'MCP_API_KEY_L', 'MCP_API_KEY_C'];
    // What libraries read for themselves.
    expect(handed.filter((name) => !known.includes(name) && !/^(AWS|OTEL)_/.test(name))).toStrictEqual([]);
    for (const [name, value] of Object.entries(gateway!.environment!))
      if (name !== 'DATABASE_URL' && name !== 'ALLOWED_HOSTS') expect(value, name).toBe(`\${${name}:-}`);
    expect(Object.keys(setup!.environment!).filter((name) => !OF_SETUP.includes(name))).toStrictEqual([]);
  });

  it('reads no variable that .env.example does not list', () => {
    const listed = read('.env.example').match(/^[A-Z0-9_]+(?==)/gm)!;
    const used = new Set([...read(ONE_MACHINE).matchAll(/\$\{([A-Z0-9_]+)/g)].map(([, name]) => name!));
    const unlisted = [...used].filter((name) => !listed.includes(name)).sort();
    expect(unlisted, 'the image, and what other libraries define').toStrictEqual([
      ...['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'L9_MEMORY_VERSION', 'OTEL_EXPORTER_OTLP_HEADERS'],
    ]);
  });

  it('shows the dashboards and loads the alerts, in a profile', () => {
    expect([prometheus!.profiles, grafana!.profiles]).toStrictEqual([['monitoring'], ['monitoring']]);
    const targets = [...prometheus!.volumes!, ...grafana!.volumes!].map((volume) => volume.split(':')[1]);
    const [, folder] = /path: (\S+)/.exec(read('docker/monitoring/grafana/provisioning/dashboards/l9-memory.yml'))!;
    expect(targets).toStrictEqual(expect.arrayContaining([folder, '/etc/prometheus/alerts.yml']));
  });
});

/** The path of Docker Compose, or null if it is not there. */
function composePath(): string | null {
  try {
    return execFileSync('bash', [join(root, '.ci', 'compose'), 'path'], { encoding: 'utf8' }).trim();
  } catch {
    return null;
  }
}

const program = composePath();
(program ? describeOnEmbedded : describe.skip)('Docker Compose, which `.ci/compose install` gets', () => {
  const PASSWORDS = ['POSTGRES', 'L9_OWNER', 'L9_GATEWAY', 'REPLICATION', 'PATRONI'];
  const ENV = PASSWORDS.map((name) => `${name}_PASSWORD=of${name.replace('_', '')}\n`).join('');
  let clone: string;
  beforeAll(() => {
    clone = mkdtempSync(join(tmpdir(), 'l9-compose-'));
    for (const name of ['docker-compose.yml', 'deploy/compose', 'docker'])
      cpSync(join(root, name), join(clone, name), { recursive: true });
  });
  afterAll(() => rmSync(clone, { recursive: true, force: true }));

  function run(folder: string, ...args: string[]) {
    const env = { PATH: process.env.PATH, HOME: clone };
    return spawnSync(program!, args, { cwd: join(clone, folder), env, encoding: 'utf8' });
  }
  /** What Compose makes of the files in a folder with these lines in its .env. */
  function config(folder: string, lines: string) {
    const file = join(clone, folder, '.env');
    writeFileSync(file, lines);
    try {
      const { stdout, stderr } = run(folder, '--profile', '*', 'config', '--format', 'json');
      expect(stderr).toBe('');
      return JSON.parse(stdout);
    } finally {
      rmSync(file);
    }
  }

  it('makes the same of the top of a clone and of deploy/compose, each with the .env beside it', () => {
    const lines = `${ENV}PORT=9555\nMCP_API_KEY_C=a-key-of-C\nALLOWED_HOSTS=memory.example\n`;
    const { name, services } = config('.', lines);
    expect({ name, services }).toMatchObject({
      name: 'l9-memory',
      services: {
        gateway: {
          build: { context: clone, dockerfile: 'docker/gateway/Dockerfile' },
          environment: {
            DATABASE_URL: 'postgres://l9_gateway:ofL9GATEWAY@postgres:5432/l9_memory',
            MCP_API_KEY_C: 'a-key-of-C',
            ALLOWED_HOSTS: 'memory.example,gateway',
          },
          ports: [{ host_ip: '127.0.0.1', published: '9555', target: 9001 }],
        },
        postgres: { build: { context: join(clone, 'docker', 'postgres') } },
      },
    });
    expect(config('deploy/compose', lines)).toStrictEqual(config('.', lines));
  });

  it('needs no other file than .env for the services without a profile', () => {
    const alone = join(clone, 'alone');
    cpSync(join(root, ONE_MACHINE), join(alone, 'docker-compose.yml'));
    writeFileSync(join(alone, '.env'), ENV);
    const { stdout, stderr } = run('alone', 'config', '--services');
    expect(stderr).toBe('');
    expect(stdout.trim().split('\n').sort()).toStrictEqual(['gateway', 'postgres', 'setup']);
  });

  it('reads the override of docs/how-to/run-on-a-server.md', () => {
    const page = read('docs/how-to/run-on-a-server.md');
    const override = join(clone, 'docker-compose.override.yml');
    writeFileSync(override, /^```yaml\n([\s\S]*?)^```/m.exec(page)![1]!);
    const { gateway } = config('.', ENV).services;
    rmSync(override);
    expect(gateway.environment.JWT_SECRET_FILE).toBe('/run/secrets/jwt');
    expect(gateway.secrets.map(({ target }: { target: string }) => target)).toContain('/run/secrets/jwt');
  });

  it('refuses each file without a password, and says which one is missing', () => {
    for (const [folder, names] of [
      ['deploy/compose', ['POSTGRES', 'L9_OWNER', 'L9_GATEWAY']],
      ['docker/ha', PASSWORDS],
    ] as const) {
      for (const name of names) {
        writeFileSync(join(clone, folder, '.env'), ENV.replace(new RegExp(`^${name}_PASSWORD=.*\n`, 'm'), ''));
        const { status, stderr } = run(folder, 'config', '--quiet');
        expect(status, name).not.toBe(0);
        expect(stderr).toContain(`set ${name}_PASSWORD in .env`);
      }
      rmSync(join(clone, folder, '.env'));
    }
  });

  it('accepts the file of the cluster', () => {
    const { services } = config('docker/ha', ENV);
    expect(Object.keys(services)).toHaveLength(9);
    expect(services.node1.environment.PATRONI_SUPERUSER_PASSWORD).toBe('ofPOSTGRES');
  });
});
