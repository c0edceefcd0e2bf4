// nginx and Caddy as `.ci/proxies install` unpacks them, and requests to what they listen on.
import { execFileSync } from 'node:child_process';
import { request as plainRequest } from 'node:http';
import { request } from 'node:https';
import type { LookupFunction } from 'node:net';
import { join } from 'node:path';

const script = join(import.meta.dirname, '..', '..', '..', '.ci', 'proxies');

/** The folder of both programs, if `.ci/proxies install` has been run. */
export function proxyPrograms(): string | null {
  try {
    return execFileSync('bash', [script, 'path'], { encoding: 'utf8' }).trim();
  } catch {
    return null;
  }
}

/** A configuration of nginx that holds what stands within `http { }`, and keeps its files in this folder. */
export function nginxAround(folder: string, http: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const paths = temporary.map((name) => `  ${name}_temp_path ${join(folder, name)};\n`).join('');
  const user = process.getuid?.() === 0 ? 'user root;\n' : '';
  const files = `pid ${join(folder, 'nginx.pid')};\nerror_log ${join(folder, 'error.log')};\n`;
  return `${user}daemon off;\n${files}events {}\nhttp {\n  access_log off;\n${paths}${http}}\n`;
}

export interface Sent {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  /** The address of the client. */
  from?: string;
}

/** Whatever the name of a host is, it is this machine. */
const thisMachine: LookupFunction = (_name, { all }, callback) =>
  all ? callback(null, [{ address: '127.0.0.1', family: 4 }]) : callback(null, '127.0.0.1', 4);

export function send(url: string, ca: Buffer, { method = 'POST', headers = {}, body, from }: Sent): Promise<Response> {
  return new Promise((resolve, reject) => {
    const open = url.startsWith('https:') ? request : plainRequest;
    const options = { method, headers, ca, localAddress: from, agent: false as const, lookup: thisMachine };
    const sent = open(url, options, (answer) => {
      const parts: Buffer[] = [];
      answer.on('data', (part) => parts.push(part));
      answer.on('end', () => {
        const empty = answer.statusCode === 202 || answer.statusCode === 204;
        const heads = Object.entries(answer.headers).map(([name, value]) => [name, String(value)] as [string, string]);
        resolve(new Response(empty ? null : Buffer.concat(parts), { status: answer.statusCode!, headers: heads }));
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
