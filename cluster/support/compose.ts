// Runs the services of docker/ha/docker-compose.yml as processes of this machine: the same commands, environments and files, with ports and
// folders that are free here.
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { freePort, type Workplace } from './programs.ts';

const folder = join(import.meta.dirname, '..', '..', 'docker', 'ha');

interface Service {
  command?: string[];
  environment?: Record<string, string>;
}

/** Replaces each match by what the function finds for it. */
async function replaceEach(text: string, pattern: RegExp, by: (found: RegExpExecArray) => Promise<string>) {
  const parts: string[] = [];
  for (const found of text.matchAll(pattern)) parts.push(await by(found));
  return text.replace(pattern, () => parts.shift()!);
}

/** The services of docker/ha, with these values of .env. */
export async function composeHere(place: Workplace, values: Readonly<Record<string, string>>) {
  const { services } = load(readFileSync(join(folder, 'docker-compose.yml'), 'utf8')) as {
    services: Record<string, Service>;
  };
  const ADDRESS = new RegExp(
    `\\b(${Object.keys(services).join('|')}):(\\d+)(?: check port (\\d+) resolvers docker)?`,
    'g',
  );
  const ports = new Map<string, Promise<number>>();

  /** The port of 127.0.0.1 that stands for this one of a service. */
  function portOf(service: string, port: string | number): Promise<number> {
    const key = `${service}:${port}`;
    const given = ports.get(key) ?? freePort();
    ports.set(key, given);
    return given;
  }

  /** A text of this service, with the addresses and folders of this machine. */
  async function here(service: string, text: string): Promise<string> {
    let found = text.replaceAll(
      /\$\{([A-Z0-9_]+)(?::[?-]([^}]*))?\}/g,
      (_, name, other) => values[name] ?? other ?? '',
    );
    found = await replaceEach(
      found,
      ADDRESS,
      async ([, name, port, checked]) =>
        `127.0.0.1:${await portOf(name!, port!)}${checked ? ` check port ${await portOf(name!, checked)}` : ''}`,
    );
    found = await replaceEach(
      found,
      /(0\.0\.0\.0|bind ):(\d+)/g,
      async ([, any, port]) => `${any === 'bind ' ? any : ''}127.0.0.1:${await portOf(service, port!)}`,
    );
    return found.replaceAll(/\/var\/lib\/(?:postgresql|l9-etcd)/g, place.inside(service));
  }

  /** Writes a file of docker/ha for this service, and returns where it is. */
  async function file(service: string, name: string): Promise<string> {
    const text = readFileSync(join(folder, name), 'utf8').replace(/# The name server of Docker.*?\n\n/s, '');
    place.write(`${service}-${name}`, await here(service, text));
    return place.inside(`${service}-${name}`);
  }

  return {
    portOf,
    folderOf: (service: string) => join(place.folder, service),
    /** Starts a service. Its command is that of the image where the file names none. */
    async start(service: string): Promise<ChildProcess> {
      const { command = ['patroni', '/etc/l9-memory/patroni.yml'], environment = {} } = services[service]!;
      mkdirSync(join(place.folder, service), { recursive: true, mode: 0o700 });
      place.own(service);
      const [program, ...given] = command;
      const args = await Promise.all(
        given.map((argument) =>
          argument.startsWith('/etc/l9-memory/') ? file(service, argument.slice('/etc/l9-memory/'.length)) : argument,
        ),
      );
      const variables = await Promise.all(
        Object.entries(environment).map(async ([name, value]) => `${name}=${await here(service, value)}`),
      );
      return place.run(service, 'env', ...variables, program!, ...args);
    },
    /** What the environment of a service says, such as the URL of its database. */
    variable: async (service: string, name: string) => here(service, services[service]!.environment![name]!),
  };
}

export type Compose = Awaited<ReturnType<typeof composeHere>>;
