// The proxies of docker/cells as processes of this machine: the files themselves, with ports and folders that are free here.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nginxAround } from '../../gateway/tests/support/proxies.ts';
import { freePort, listening, type Workplace } from './programs.ts';

const folder = join(import.meta.dirname, '..', '..', 'docker', 'cells');
export const PROXIES = ['HAProxy', 'nginx', 'Caddy'] as const;
export type ProxyName = (typeof PROXIES)[number];

export interface RunningProxy {
  port: number;
  /** Makes the proxy read the directory again. */
  reload(): void;
}

/** A certificate of its own authority for memory.example and the names below it, as the proxies want it. */
export function makeCertificate(place: Workplace): Buffer {
  const path = (name: string) => join(place.folder, name);
  const names = 'subjectAltName=DNS:memory.example,DNS:*.memory.example';
  const options = '-x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=memory.example';
  const files = ['-keyout', path('privkey.pem'), '-out', path('chain.pem')];
  execFileSync('openssl', ['req', ...options.split(' '), '-addext', names, ...files], { stdio: 'ignore' });
  const certificate = readFileSync(path('chain.pem'));
  // HAProxy reads the key from the same file, the others ignore it there.
  place.write('fullchain.pem', `${certificate}${readFileSync(path('privkey.pem'), 'utf8')}`);
  return certificate;
}

/** Writes the directory of docker/cells, with this change. */
export function writeDirectory(place: Workplace, change: (text: string) => string = (text) => text): void {
  place.write('cells.map', change(readFileSync(join(folder, 'cells.map'), 'utf8')));
  const forNginx = /^# +(sed .*)$/m.exec(readFileSync(join(folder, 'nginx.conf'), 'utf8'))![1]!;
  execFileSync('sh', ['-c', forNginx.replaceAll('/etc/l9-cells', place.folder)]);
}

/** Starts the proxies in front of the gateways on these ports, the first of which is that of cell a. */
export async function startProxies(place: Workplace, bin: string, gateways: readonly number[]) {
  const running: ChildProcess[] = [];
  const run = (program: string, args: string[]) => {
    const output = openSync(join(place.folder, `${program}.log`), 'a');
    const env = { ...process.env, HOME: place.folder, XDG_DATA_HOME: place.folder, XDG_CONFIG_HOME: place.folder };
    const child = spawn(join(bin, program), args, { env, stdio: ['ignore', output, output] });
    running.push(child);
    return child;
  };
  const read = (name: string, inside: string) =>
    readFileSync(join(folder, name), 'utf8')
      .replaceAll('/etc/l9-cells', inside)
      .replaceAll(/127\.0\.0\.1:900([12])/g, (_, cell) => `127.0.0.1:${gateways[Number(cell) - 1]}`);

  const start = {
    async HAProxy() {
      const port = await freePort();
      place.write('haproxy.cfg', read('haproxy.cfg', place.inside('.')).replace('bind :443', `bind 127.0.0.1:${port}`));
      const child = place.run('haproxy', 'haproxy', '-W', '-f', place.inside('haproxy.cfg'));
      await listening(port, child);
      return { port, reload: () => void child.kill('SIGUSR2') };
    },
    async nginx() {
      const port = await freePort();
      const http = read('nginx.conf', place.folder).replace('listen 443', `listen 127.0.0.1:${port}`);
      const path = join(place.folder, 'nginx.conf');
      writeFileSync(path, nginxAround(place.folder, http));
      const child = run('nginx', ['-c', path, '-p', place.folder, '-e', join(place.folder, 'error.log')]);
      await listening(port, child);
      return { port, reload: () => void child.kill('SIGHUP') };
    },
    async Caddy() {
      const [port, admin] = [await freePort(), await freePort()];
      const site = read('Caddyfile', place.folder).replace(
        /^memory\.example, \*\.memory\.example/m,
        `memory.example:${port}, *.memory.example:${port}`,
      );
      const path = join(place.folder, 'Caddyfile');
      writeFileSync(path, `{\n\tadmin localhost:${admin}\n\tauto_https disable_redirects\n}\n${site}`);
      const child = run('caddy', ['run', '--config', path, '--adapter', 'caddyfile']);
      await listening(port, child);
      const args = ['reload', '--config', path, '--adapter', 'caddyfile', '--address', `localhost:${admin}`, '--force'];
      return { port, reload: () => void run('caddy', args) };
    },
  } satisfies Record<ProxyName, () => Promise<RunningProxy>>;

  const proxies = {} as Record<ProxyName, RunningProxy>;
  for (const name of PROXIES) proxies[name] = await start[name]();
  return {
    proxies,
    async close() {
      await Promise.all(
        running.map((child) => {
          if (child.exitCode !== null || child.signalCode !== null) return null;
          const ended = new Promise((resolve) => child.once('exit', resolve));
          child.kill();
          return ended;
        }),
      );
    },
  };
}
