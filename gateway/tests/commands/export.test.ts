// `l9-memory export` and `l9-memory import` of what it wrote, as processes of their own, between two real gateways.
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { sealAll } from '../../../db/tests/audit/support.ts';
import { withSeal } from '../../../db/tests/transfer/support.ts';
import { runCommand, spawnCommand } from '../support/command.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

let from: TestGateway;
let to: TestGateway;
let folder: string;
let file: string;
beforeAll(async () => {
  [from, to] = [await startTestGateway(), await startTestGateway()];
  folder = mkdtempSync(join(tmpdir(), 'l9-export-'));
  file = join(folder, 'all.jsonl');
  const mill = await from.save('C', 'The mill stands by the river, and turns in spring');
  await from.save('C', 'Bread is baked at four in the morning', { tags: ['bread'] });
  await from.save('L', 'The vault opens with two keys', { scope: 'l-private' });
  await from.call('C', 'update_memory', {
    packet_id: mill,
    content: 'The mill stands on the hill, and turns in spring',
  });
  await from.call('C', 'assert_fact', { subject: 'mill', predicate: 'stands on', object: 'hill', source_packet: mill });
  await from.embedded();
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await from.close();
  await to.close();
});

const run = (gateway: TestGateway, args: string[], stdin = '') =>
  runCommand([...args, '--url', gateway.instance.url], { home: gateway.home.home, stdin });

const memories = async (gateway: TestGateway) =>
  Number((await gateway.asSuperuser('select count(*) from public.packet_store'))[0].count);

/** A file with some of its lines changed, and an end that fits them unless one is given. */
function tampered(name: string, change: (lines: string[]) => string[], end?: (lines: string[]) => string): string {
  const lines = change(readFileSync(file, 'utf8').trimEnd().split('\n').slice(0, -1));
  const text = lines.map((line) => `${line}\n`).join('');
  const sha256 = createHash('sha256').update(text).digest('hex');
  const path = join(folder, name);
  writeFileSync(path, `${text}${end ? end(lines) : JSON.stringify({ end: { lines: lines.length, sha256 } })}\n`);
  return path;
}

const endOf = () => readFileSync(file, 'utf8').trimEnd().split('\n').at(-1)!;

describe('l9-memory export and import', () => {
  it('writes a whole tenant with a header and an end, readable by its owner only', async () => {
    const { code, err } = await run(from, ['export', file]);
    expect([code, err]).toStrictEqual([0, expect.stringMatching(/^\d+ lines\n$/)]);
    const text = readFileSync(file, 'utf8');
    const lines = text.trimEnd().split('\n');
    const header = JSON.parse(lines[0]!);
    expect([header.format, header.version]).toStrictEqual(['l9-memory', 1]);
    expect(header.counts.find(({ kind }: { kind: string }) => kind === 'memory').lines).toBe(3);
    const before = text.slice(0, text.lastIndexOf('\n', text.length - 2) + 1);
    expect(JSON.parse(lines.at(-1)!)).toStrictEqual({
      end: { lines: lines.length - 1, sha256: createHash('sha256').update(before).digest('hex') },
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder).filter((name) => name.endsWith('.part'))).toStrictEqual([]);
  });

  it('writes the same to standard output, and compressed if the name ends in .gz', async () => {
    const whole = readFileSync(file, 'utf8');
    expect((await run(from, ['export', '-'])).out).toBe(whole);
    await run(from, ['export', join(folder, 'all.jsonl.gz')]);
    expect(gunzipSync(readFileSync(join(folder, 'all.jsonl.gz'))).toString()).toBe(whole);
  });

  it("holds nothing of L's private scope for C", async () => {
    const { code, out } = await run(from, ['export', '-', '--caller', 'C']);
    expect(code).toBe(0);
    expect(out).not.toMatch(/vault|l-private|L-CTO/);
    expect(JSON.parse(out.split('\n')[0]!).counts.find(({ kind }: { kind: string }) => kind === 'memory').lines).toBe(
      2,
    );
  });

  it('says why a file cannot be written, and leaves nothing', async () => {
    const { code, err } = await run(from, ['export', join(folder, 'nowhere', 'x.jsonl')]);
    expect([code, err]).toStrictEqual([1, expect.stringContaining('there is no such file or folder')]);
  });

  it.each([
    [
      'a changed byte',
      () => tampered('byte.jsonl', (lines) => lines.map((line) => line.replace('four', 'five')), endOf),
      'the SHA-256 is not that of the lines: the file was changed',
    ],
    [
      'a missing line',
      () => tampered('line.jsonl', (lines) => lines.slice(0, -1), endOf),
      /line \d+: the export has \d+ lines before this one, and the file \d+/,
    ],
    [
      'a missing end',
      () =>
        tampered(
          'cut.jsonl',
          (lines) => lines.slice(0, -1),
          (lines) => lines[1]!,
        ),
      'the end of the export is missing: the file was cut off',
    ],
    [
      'a line after the end',
      () =>
        tampered(
          'more.jsonl',
          (lines) => lines,
          () => `${endOf()}\n{"memory": {}}`,
        ),
      /line \d+: stands after the end of the export/,
    ],
    [
      'what is no line',
      () => tampered('none.jsonl', (lines) => [...lines, 'hush']),
      /line \d+: is no line of an export/,
    ],
    [
      'an unknown version',
      () => tampered('version.jsonl', (lines) => [lines[0]!.replace('"version":1', '"version":9'), ...lines.slice(1)]),
      'line 1: is version 9 of the format; this l9-memory reads version 1',
    ],
    [
      'the header of another tenant',
      () =>
        tampered('tenant.jsonl', (lines) => [
          lines[0]!.replace(/"tenant_id":"0000/, '"tenant_id":"1111'),
          ...lines.slice(1),
        ]),
      'line 1: tenant_id: another tenant exported this',
    ],
    [
      'a compressed file that was cut off',
      () => {
        const path = join(folder, 'cut.jsonl.gz');
        writeFileSync(path, gzipSync(readFileSync(file)).subarray(0, -40));
        return path;
      },
      'the compressed file is damaged or cut off',
    ],
  ])('refuses %s before anything is written', async (_, make, message) => {
    const { code, err } = await run(to, ['import', make(), '--caller', 'L']);
    expect([code, err]).toStrictEqual([1, expect.stringMatching(message)]);
    expect(err).not.toContain('hush');
    expect(await memories(to)).toBe(0);
  });

  it('names the line of a row of another tenant', async () => {
    const path = tampered('row.jsonl', (lines) =>
      lines.map((line) =>
        line.replace('{"scope": {', '{"scope": {"tenant_id": "11111111-0000-7000-8000-000000000001", '),
      ),
    );
    const { code, err } = await run(to, ['import', path, '--caller', 'L']);
    expect([code, err]).toStrictEqual([1, expect.stringContaining('line 2: scope.tenant_id: not your tenant')]);
  });

  it('refuses an agent', async () => {
    const { code, err } = await run(to, ['import', file, '--caller', 'C']);
    expect([code, err]).toStrictEqual([1, expect.stringContaining('permission denied for your role')]);
    expect(await memories(to)).toBe(0);
  });

  it('takes it back: the same export, the same answers, and again changes nothing', async () => {
    const first = await run(to, ['import', file, '--caller', 'L']);
    expect([first.code, first.err]).toStrictEqual([0, '']);
    expect(first.out).toMatch(/^\d+ stored, \d+ there already\n$/);
    expect((await run(to, ['export', '-'])).out).toBe(readFileSync(file, 'utf8'));

    await to.embedded();
    const hits = async (gateway: TestGateway, query: string) =>
      (await gateway.call('L', 'search_memory', { query })).hits.map(
        ({ packet_id, score }: { packet_id: string; score: number }) => [packet_id, score.toFixed(3)],
      );
    for (const query of ['where is the mill', 'when do we bake', 'two keys']) {
      const found = await hits(from, query);
      expect(found.length).toBeGreaterThan(0);
      expect(await hits(to, query)).toStrictEqual(found);
    }

    const again = await run(to, ['import', '-', '--caller', 'L'], readFileSync(file, 'utf8'));
    expect([again.code, again.out]).toStrictEqual([0, expect.stringMatching(/^0 stored, \d+ there already\n$/)]);
    const compressed = await run(to, ['import', join(folder, 'all.jsonl.gz'), '--caller', 'L']);
    expect(compressed.out).toMatch(/^0 stored/);

    // Vectors come along when they are asked for. Those that are there already stay.
    const path = join(folder, 'vectors.jsonl');
    await run(from, ['export', path, '--with-vectors']);
    expect(readFileSync(path, 'utf8')).toMatch(/^\{"vector": /m);
    // The place may not have made all of its own yet.
    await run(to, ['import', path, '--caller', 'L']);
    const vectors = await run(to, ['import', path, '--caller', 'L']);
    expect([vectors.code, vectors.err, vectors.out]).toStrictEqual([0, '', expect.stringMatching(/^0 stored/)]);
  });

  it('carries the sealed audit log when it is asked for, and names a row that was altered', async () => {
    const path = join(folder, 'audit.jsonl');
    expect(await run(from, ['export', path, '--with-audit', '--caller', 'C'])).toMatchObject({
      code: 1,
      err: '--with-audit: only administrators read the audit log\n',
    });
    await sealAll(from);
    const { code, err } = await run(from, ['export', path, '--with-audit']);
    expect([code, err]).toStrictEqual([0, expect.stringMatching(/The audit log in it ends with [0-9a-f]{64}/)]);
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n').slice(0, -1);
    const number = lines.findIndex((line) => line.startsWith('{"audit_row"')) + 1;
    writeFileSync(
      join(folder, 'altered.jsonl'),
      withSeal(lines.map((line, place) => (place === number - 1 ? line.replace('"success"', '"error"') : line))),
    );
    const altered = await run(to, ['import', join(folder, 'altered.jsonl'), '--caller', 'L']);
    expect([altered.code, altered.err]).toStrictEqual([
      1,
      expect.stringContaining(`line ${number}: audit_row: is not the row that was sealed`),
    ]);
    const taken = await run(to, ['import', path, '--caller', 'L']);
    expect([taken.code, taken.err]).toStrictEqual([0, '']);
    expect(taken.out).toContain(err.match(/ends with [0-9a-f]{64}/)![0]);
    expect((await run(to, ['audit', 'verify'])).out).toMatch(/^ok: /);
  });

  it('goes on where it was killed: nothing is there twice, and nothing is lost', async () => {
    // No vector is looked at here, and the real model would be busy with these texts all the time.
    const [source, target] = [
      await startTestGateway({ embedder: standIn }),
      await startTestGateway({ embedder: standIn }),
    ];
    try {
      // Long texts, so that the import takes several batches.
      for (const from of [1, 101])
        await source.sql(
          'C',
          "select public.save_memory(format('The lamp %s is %s', i, repeat('bright ', 2000)), project_id => 'l9') from generate_series($1::integer, $1 + 99) i",
          [from],
        );
      const path = join(folder, 'many.jsonl');
      await run(source, ['export', path]);
      const args = ['import', path, '--caller', 'L', '--url', target.instance.url];
      const child = spawnCommand(args, { home: target.home.home });
      const ended = new Promise((resolve) => child.on('close', resolve));
      while ((await memories(target)) === 0);
      child.kill('SIGKILL');
      await ended;
      const again = await run(target, ['import', path, '--caller', 'L']);
      // A slow import also shows its progress on stderr.
      expect(again.code, again.err).toBe(0);
      const [, stored, present] = /^(\d+) stored, (\d+) there already/.exec(again.out)!.map(Number);
      expect(stored).toBeGreaterThan(0);
      expect(present).toBeGreaterThan(0);
      expect((await run(target, ['export', '-'])).out).toBe(readFileSync(path, 'utf8'));
    } finally {
      await source.close();
      await target.close();
    }
  });
});
