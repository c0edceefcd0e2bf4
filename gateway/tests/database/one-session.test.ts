// The embedded engine has one session for all: no call of one client keeps another waiting for long, whatever its text is.
import { setTimeout as sleep } from 'node:timers/promises';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { type TestGateway, useTestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

const MEBIBYTE = 1_048_576;
// On an idle machine no read waits for three seconds. A busy one does more at a time, and cancels a statement after eight.
const SLOWEST_MS = 9_000;

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** A text of this many bytes that a maker's pieces fill. The same on each run. */
function filled(bytes: number, piece: (random: (length: number) => string) => string): string {
  let seed = 20_261_125;
  const random = (length: number) =>
    Array.from({ length }, () => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return ALPHABET[(seed >> 8) % ALPHABET.length];
    }).join('');
  const pieces: string[] = [];
  for (let left = bytes; left > 0; left -= pieces.at(-1)!.length) pieces.push(piece(random));
  return pieces.join('').slice(0, bytes);
}

/** Texts of 1 MiB: ordinary ones, full of secrets, and of what looks like them. */
const TEXTS: Readonly<Record<string, (random: (length: number) => string) => string>> = {
  'ordinary words': (random) => `${random(7).toLowerCase()} `,
  'named secrets': (random) => `password = "${random(9)}!7x"\n`,
  'long random tokens': (random) => `${random(40)} `,
  'passwords in URLs': (random) => `ftp://u:${random(8)}@h.de `,
  'e-mail addresses': (random) => `${random(6)}@${random(5)}.de `,
  'encoded secrets': (random) => `password%3D${random(12)}1 `,
  'what is nearly a password': (random) => `pwd ${random(4).toLowerCase().replace(/\d/g, 'a')}0a `,
  'what is nearly a key': () => 'AKIAIOSFODNN7EXAMPLE ghp_',
  'a single long word': (random) => random(64),
  'beginnings of keys': () => `${'-'.repeat(5)}BEGIN RSA ${'PRIVATE'} KEY${'-'.repeat(5)}\n`,
};

/** A save looks through the text, too, with the same search: each text is put to one of both. */
const SAVED = [
  'ordinary words',
  'named secrets',
  'long random tokens',
  'what is nearly a password',
  'a single long word',
];

/** Does the work while another client reads, and returns how long its slowest read took. */
async function slowestReadDuring(gateway: TestGateway, work: () => Promise<unknown>): Promise<number> {
  let isWorking = true;
  let slowest = 0;
  const read = async () => {
    while (isWorking) {
      const start = performance.now();
      await gateway.call('L', 'get_memory_stats');
      slowest = Math.max(slowest, performance.now() - start);
      // A statement that takes seconds meets a read this often, too. More reads would take longer than the work itself.
      await sleep(200);
    }
  };
  const reading = read();
  try {
    await sleep(50);
    await work();
  } finally {
    isWorking = false;
    await reading;
  }
  if (process.env.SHOW_TIMES) process.stderr.write(`${expect.getState().currentTestName}: ${Math.round(slowest)} ms\n`);
  return slowest;
}

describeOnEmbedded('the only session', () => {
  const gateway = useTestGateway({ embedder: standIn, env: { DATABASE_QUEUE_TIMEOUT_MS: '10000' } });
  const find = (content: string) =>
    gateway.graphql('C', 'query ($content: String!) { findSecrets(content: $content) { pattern } }', { content });
  const project = { project_id: 'l9' };

  it.each(
    Object.keys(TEXTS).map((name) => [name, SAVED.includes(name) ? 'saved' : 'looked through'] as const),
  )('is free for others while 1 MiB of %s is %s', async (name, how) => {
    const content = filled(MEBIBYTE, TEXTS[name]!);
    const slowest = await slowestReadDuring(gateway, () =>
      how === 'saved' ? gateway.tool('C', 'save_memory', { content, ...project }) : find(content),
    );
    expect(slowest).toBeLessThan(SLOWEST_MS);
  });

  it('is free for others while a document of 2 MB is stored, which comes out whole', async () => {
    const body_md = filled(2_000_000, (random) => `# ${random(8)}\n\n${`${random(7)} some words `.repeat(50)}\n\n`);
    const item = { kind: 'document', ...project, data: { title: 'long', source_url: 'long.md', body_md } };
    let stored: { status: string; packet_id: string }[] = [];
    const slowest = await slowestReadDuring(gateway, async () => {
      ({ stored } = await gateway.call('C', 'memory_store', { items: [item] }));
    });
    expect(slowest).toBeLessThan(SLOWEST_MS);
    expect(stored).toMatchObject([{ status: 'inserted' }]);
    const [row] = await gateway.sql(
      'C',
      `select string_agg(envelope ->> 'body_md', '' order by (envelope ->> 'position')::numeric) = $2 as is_whole
       from public.packet_store where part_of = $1`,
      [stored[0]!.packet_id, body_md],
    );
    expect(row).toStrictEqual({ is_whole: true });
  });

  it('is free for others while 500 items are stored, and metadata and tags of the largest size', async () => {
    const items = Array.from({ length: 500 }, (_, n) => ({
      ...project,
      data: { content: `item ${n} ${filled(3_000, TEXTS['ordinary words']!)}` },
    }));
    const metadata = { text: filled(60_000, TEXTS['what is nearly a password']!) };
    const tags = Array.from({ length: 64 }, (_, n) => `tag-${n}`);
    const slowest = await slowestReadDuring(gateway, async () => {
      expect((await gateway.call('C', 'memory_store', { items })).stored).toHaveLength(500);
      await gateway.tool('C', 'save_memory', { content: 'with metadata', metadata, tags, ...project });
    });
    expect(slowest).toBeLessThan(SLOWEST_MS);
  });

  it('stores nothing of a document that has a secret near its end', async () => {
    const text = filled(900_000, (random) => `# ${random(8)}\n\n${`${random(7)} some words `.repeat(50)}\n\n`);
    const body_md = `${text}\n# Keys\n\npassword = "${'x9!aBcDeF'}7Q"\n`;
    const item = { kind: 'document', ...project, data: { title: 'keys', source_url: 'keys.md', body_md } };
    const { errors } = await gateway.call('C', 'memory_store', { items: [item] });
    expect(errors).toMatchObject([{ sqlstate: 'L9SEC', findings: [{ path: 'data.body_md' }] }]);
    const rows = await gateway.sql('C', "select from public.packet_store where envelope ->> 'source_url' = 'keys.md'");
    expect(rows).toStrictEqual([]);
  });

  it('refuses a body above 2 MiB of other calls, and one of too many values', async () => {
    const headers = { 'content-type': 'application/json', 'x-api-key': gateway.apiKey('C') };
    const call = (name: string, args: object) => ({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: args },
    });
    const send = (body: object) =>
      fetch(`${gateway.instance.url}/mcp`, { method: 'POST', headers, body: JSON.stringify(body) });
    const refused = await send(call('save_memory', { content: 'x'.repeat(3 * MEBIBYTE) }));
    expect([refused.status, await refused.text()]).toMatchObject([413, expect.stringContaining('at most 2 MiB')]);
    const deep = Array.from({ length: 400_000 }, () => []);
    const tooMany = await send(call('memory_store', { items: deep, filler: 'x'.repeat(2 * MEBIBYTE) }));
    expect([tooMany.status, await tooMany.text()]).toMatchObject([413, expect.stringContaining('values')]);
  });

  it('lets /health answer while large bodies arrive', async () => {
    const headers = { 'content-type': 'application/json', 'x-api-key': gateway.apiKey('C') };
    const params = { name: 'memory_store', arguments: { items: [], filler: 'x"'.repeat(12 * MEBIBYTE) } };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    let isArriving = true;
    let slowest = 0;
    const asking = (async () => {
      while (isArriving) {
        const start = performance.now();
        expect((await fetch(`${gateway.instance.url}/health`)).status).toBe(200);
        slowest = Math.max(slowest, performance.now() - start);
        await sleep(5);
      }
    })();
    for (let n = 0; n < 3; n += 1)
      await (await fetch(`${gateway.instance.url}/mcp`, { method: 'POST', headers, body })).text();
    isArriving = false;
    await asking;
    if (process.env.SHOW_TIMES) process.stderr.write(`/health: ${Math.round(slowest)} ms\n`);
    // 250 ms on an idle machine.
    expect(slowest).toBeLessThan(SLOWEST_MS);
  });
});
