import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { readMarkdown } from '../../src/commands/support/markdown-files.ts';
import { runCommandHere } from '../support/command.ts';
import { useTestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const cli = join(root, 'gateway', 'src', 'cli.ts');

describeOnEmbedded('l9-memory ingest', () => {
  // Embedding thousands of sections would take longer than all the rest.
  const gateway = useTestGateway({ embedder: standIn });
  const folders: string[] = [];
  let running: ChildProcess | undefined;
  afterEach(() => {
    running?.kill();
  });
  afterAll(() => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });

  const newFolder = () => {
    const folder = mkdtempSync(join(tmpdir(), 'l9-ingest-'));
    folders.push(folder);
    return folder;
  };
  const write = (folder: string, name: string, content: string | Buffer) => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  };
  const ingest = (folder: string, project: string, ...more: string[]) =>
    runCommandHere(['ingest', folder, '--url', gateway.instance.url, '--project', project, ...more], {
      home: gateway.home.home,
    });
  const documents = (project: string): Promise<{ packet_id: string; source: string; title: string }[]> =>
    gateway.sql(
      'C',
      `select packet_id, title, envelope ->> 'source_url' as source from public.packet_store
       where project_id = $1 and packet_type = 'document' order by 3`,
      [project],
    ) as never;
  const wholeOf = async (packetId: string) =>
    (await gateway.query('C', 'query ($packetId: UUID!) { getDocument(packetId: $packetId) { bodyMd } }', { packetId }))
      .getDocument.bodyMd as string;
  const writes = async (project: string) =>
    Object.fromEntries(
      (
        await gateway.sql(
          'L',
          `select operation || ' ' || (details ->> 'kind') as what, count(*)::integer as n from public.audit_log
           where project_id = $1 and operation in ('INSERT', 'UPDATE', 'DELETE') group by 1`,
          [project],
        )
      ).map(({ what, n }) => [what, n]),
    );

  it('stores 60 real files, then only the five sections that changed, and gives each back byte for byte', async () => {
    const folder = newFolder();
    const all = globSync('node_modules/{*,@*/*}/{README,readme,CHANGELOG,LICENSE}.md', { cwd: root })
      .sort()
      .filter((file) => {
        const read = readMarkdown(join(root, file));
        return 'text' in read && read.text.length < 4_000;
      })
      .slice(0, 70);
    for (const file of all) write(folder, file.replace('node_modules', 'packages'), readFileSync(join(root, file)));

    const first = await ingest(folder, 'books');
    // A few show a key or token as an example, which is refused like any.
    const refused = [...first.err.matchAll(/^(.+\.md): .* looks like a secret /gim)].map(([, path]) => path!);
    for (const path of refused) rmSync(path);
    const files = all.filter((file) => !refused.includes(join(folder, file.replace('node_modules', 'packages'))));
    expect(files.length).toBeGreaterThanOrEqual(60);
    expect(first.out, first.err).toBe(`${files.length} inserted, 0 updated, 0 unchanged, ${refused.length} failed\n`);
    const before = await writes('books');

    const again = await ingest(folder, 'books');
    expect(again.out).toBe(`0 inserted, 0 updated, ${files.length} unchanged, 0 failed\n`);
    expect(await writes('books')).toStrictEqual(before);

    const withProse = files.filter((file) => /^[A-Z][a-z ,]{20,}/m.test(readFileSync(join(root, file), 'utf8')));
    const changed = [1, 3, 5, 7, 9].map((n) =>
      withProse[Math.floor((n * withProse.length) / 10)]!.replace('node_modules', 'packages'),
    );
    for (const name of changed) {
      const text = readFileSync(join(folder, name), 'utf8');
      const sentences = [...text.matchAll(/^[A-Z][a-z ,]{20,}/gm)];
      const { index } = sentences[Math.floor(sentences.length / 2)]!;
      write(folder, name, `${text.slice(0, index)}Changed. ${text.slice(index)}`);
    }
    const third = await ingest(folder, 'books');
    expect(third.out, third.err).toBe(`0 inserted, 5 updated, ${files.length - 5} unchanged, 0 failed\n`);
    expect(await writes('books')).toStrictEqual({ ...before, 'UPDATE section': 5 });
    const [{ versions }] = await gateway.sql(
      'C',
      "select count(*)::integer as versions from public.packet_versions where project_id = 'books'",
    );
    expect(versions).toBe(5);

    const stored = await documents('books');
    expect(stored.map(({ source }) => source)).toStrictEqual(
      files.map((file) => file.replace('node_modules', 'packages')).sort(),
    );
    for (const { packet_id, source } of stored)
      expect(Buffer.from(await wholeOf(packet_id))).toStrictEqual(readFileSync(join(folder, source)));
    const mcp = await gateway.call('C', 'get_document', { packet_id: stored[7]!.packet_id });
    expect(mcp.body_md).toBe(readFileSync(join(folder, stored[7]!.source), 'utf8'));
  });

  it('leaves out what Git ignores, names files that cannot be documents, and stores the others', async () => {
    const folder = newFolder();
    write(folder, '.gitignore', 'build/\n*.draft.md\n!kept.draft.md\n');
    write(folder, 'guide/first.md', '```\n# no title\n```\n\n# The first ##\n\nText.\r\n');
    write(folder, 'guide/.gitignore', '/local.md\n');
    write(folder, 'guide/local.md', 'Ignored');
    write(folder, 'plain.markdown', 'No heading, and no end of line');
    write(folder, 'build/out.md', 'Ignored');
    write(folder, 'a.draft.md', 'Ignored');
    write(folder, 'kept.draft.md', 'Kept');
    write(folder, 'node_modules/x/README.md', 'Ignored');
    write(folder, 'notes.txt', 'No Markdown');
    write(folder, 'latin.md', Buffer.from([0x63, 0x61, 0x66, 0xe9]));
    write(folder, 'blank.md', ' \n\n');
    write(folder, 'large.mdx', `hush ${'x'.repeat(4 * 1024 * 1024)}`);
    const { code, out, err } = await ingest(folder, 'mixed', '--branch', 'main', '--tags', 'guide,new');
    expect([code, out]).toStrictEqual([1, '3 inserted, 0 updated, 0 unchanged, 3 failed\n']);
    expect(err).toContain(`${join(folder, 'latin.md')}: not UTF-8\n`);
    expect(err).toContain(`${join(folder, 'blank.md')}: blank\n`);
    expect(err).toMatch(/large\.mdx: too large: at most 4194304 bytes/);
    expect(err).not.toContain('hush');
    expect((await documents('mixed')).map(({ source, title }) => [source, title])).toStrictEqual([
      ['guide/first.md', 'The first'],
      ['kept.draft.md', 'kept.draft.md'],
      ['plain.markdown', 'plain.markdown'],
    ]);
    const places = await gateway.sql(
      'C',
      "select distinct branch, tags, scope from public.packet_store where project_id = 'mixed'",
    );
    expect(places).toStrictEqual([{ branch: 'main', tags: ['guide', 'new'], scope: 'developer' }]);
  });

  it('counts what cannot be read as failed, says what it is, and stores the others', async () => {
    const folder = newFolder();
    write(folder, 'good.md', '# Good');
    write(folder, 'a/first.md', '# First');
    write(folder, 'locked/hidden.md', '# Hidden');
    write(folder, 'rules/.gitignore/x', 'A folder');
    write(folder, 'rules/kept.md', '# Kept back');
    writeFileSync(Buffer.concat([Buffer.from(`${folder}/caf`), Buffer.from([0xe9]), Buffer.from('.md')]), '# Name');
    mkdirSync(Buffer.concat([Buffer.from(`${folder}/d`), Buffer.from([0xff])]));
    writeFileSync(
      Buffer.concat([Buffer.from(`${folder}/latin`), Buffer.from([0xe9]), Buffer.from('.txt')]),
      'No Markdown',
    );
    execFileSync('mkfifo', [join(folder, 'pipe.md')]);
    symlinkSync('circle.md', join(folder, 'circle.md'));
    symlinkSync('.', join(folder, 'again'));
    const given = ['pipe.md', 'circle.md', 'gone.md', 'a'].map((name) => join(folder, name));
    const { code, out, err } = await runCommandHere(
      ['ingest', folder, ...given, '/dev/zero', '--url', gateway.instance.url, '--project', 'odd'],
      { home: gateway.home.home },
    );
    expect(err.trim().split('\n').sort()).toStrictEqual(
      [
        '/dev/zero: it is a device, not a file',
        `${folder}/caf\\xe9.md: the name of this file is not UTF-8`,
        `${folder}/circle.md: its links lead in a circle`,
        `${folder}/d\\xff: the name of this folder is not UTF-8`,
        `${folder}/gone.md: there is no such file or folder`,
        `${folder}/pipe.md: it is a named pipe, not a file`,
        `${folder}/rules: left out, because its .gitignore can't be used: it is a folder, not a file`,
      ].sort(),
    );
    expect([code, out]).toStrictEqual([1, '3 inserted, 0 updated, 0 unchanged, 7 failed\n']);
    expect((await documents('odd')).map(({ source }) => source)).toStrictEqual([
      'first.md',
      'good.md',
      'locked/hidden.md',
    ]);
  });

  it('prunes nothing of a folder that cannot be read', async () => {
    const folder = newFolder();
    mkdirSync(join(folder, '.git'));
    write(folder, 'docs/a/one.md', '# One');
    write(folder, 'docs/two.md', '# Two');
    expect((await ingest(folder, 'kept')).out).toBe('2 inserted, 0 updated, 0 unchanged, 0 failed\n');
    rmSync(join(folder, 'docs/two.md'));
    // Root may read everything, but not a folder in place of the rules.
    mkdirSync(join(folder, 'docs/a/.gitignore'));
    const { out, err } = await ingest(folder, 'kept', '--prune');
    expect([out, err]).toStrictEqual([
      '0 inserted, 0 updated, 0 unchanged, 1 deleted, 1 failed\n',
      `${folder}/docs/a: left out, because its .gitignore can't be used: it is a folder, not a file\n`,
    ]);
    expect((await documents('kept')).map(({ source }) => source)).toStrictEqual(['docs/a/one.md']);
  });

  it('uses title, tags, aliases and date of the front matter, and says what of it it cannot use', async () => {
    const folder = newFolder();
    const front = (name: string, yaml: string, body = 'Text\n') => write(folder, name, `---\n${yaml}\n---\n\n${body}`);
    front(
      'a.md',
      '# a remark\nTitle: "Badger: a plan"\ntags:\n  - sett\n  - "night/walk"\naliases: [Dachs, Brock]\ndate: 2026-03-02',
    );
    front('b.md', 'tags: "#one, two"\nalias: Fuchs\ndate: 2026-03-02T10:00:00', '# The fox\n');
    front('c.md', 'tags: one two\ntitle: 7\ndate: next week');
    front('d.md', 'title: [broken\ndate: x', 'Underlined\n---\n');
    front('e.md', 'title:\ndate: 2999-01-01', '<!--\n# Not this\n-->\n## This\n');
    write(
      folder,
      'f.md',
      '+++\r\n# a remark\r\ntitle = "Heron"\r\ntags = ["pond"]\r\naliases = "Reiher"\r\ndate = 2026-03-02T10:00:00\r\n+++\r\n# No title\r\n',
    );
    write(folder, 'g.md', '+++\ntitle = Broken\n+++\n# The newt\n');
    write(folder, 'h.md', '---\rtitle: The owl\r---\r\r# Feathers\r');
    const { out, err } = await ingest(folder, 'front', '--tags', 'zoo');
    expect(err.trim().split('\n').sort()).toStrictEqual([
      `${folder}/b.md: the date in its front matter has no zone and was read as UTC`,
      `${folder}/c.md: the date in its front matter could not be read`,
      `${folder}/d.md: its front matter is no valid YAML and was not used`,
      `${folder}/e.md: the date in its front matter is in the future and was not used`,
      `${folder}/f.md: the date in its front matter has no zone and was read as UTC`,
      `${folder}/g.md: its front matter is no valid TOML and was not used`,
    ]);
    expect(out).toBe('8 inserted, 0 updated, 0 unchanged, 0 failed\n');
    const rows = await gateway.sql(
      'C',
      `select title, array(select t from unnest(tags) as t order by t) as tags, envelope -> 'aliases' as aliases,
         case when "timestamp" < now() - interval '1 day' then "timestamp"::text end as time
       from public.packet_store where project_id = 'front' and packet_type = 'document' order by envelope ->> 'source_url'`,
    );
    expect(rows.map((row) => ({ ...row, time: row.time && new Date(row.time).toISOString() }))).toStrictEqual([
      {
        title: 'Badger: a plan',
        tags: ['night/walk', 'sett', 'zoo'],
        aliases: ['Dachs', 'Brock'],
        time: '2026-03-02T00:00:00.000Z',
      },
      { title: 'The fox', tags: ['one', 'two', 'zoo'], aliases: ['Fuchs'], time: '2026-03-02T10:00:00.000Z' },
      { title: '7', tags: ['one', 'two', 'zoo'], aliases: null, time: null },
      { title: 'Underlined', tags: ['zoo'], aliases: null, time: null },
      { title: 'This', tags: ['zoo'], aliases: null, time: null },
      { title: 'Heron', tags: ['pond', 'zoo'], aliases: ['Reiher'], time: '2026-03-02T10:00:00.000Z' },
      { title: 'The newt', tags: ['zoo'], aliases: null, time: null },
      { title: 'The owl', tags: ['zoo'], aliases: null, time: null },
    ]);
    expect((await ingest(folder, 'front', '--tags', 'zoo')).out).toBe('0 inserted, 0 updated, 8 unchanged, 0 failed\n');
  });

  it('infers project and branch from the working copy; flags take precedence', async () => {
    const folder = join(newFolder(), 'inferred');
    write(folder, 'docs/a.md', '# A');
    execFileSync('git', ['init', '--quiet', '--initial-branch', 'work', folder]);
    const run = (...more: string[]) =>
      runCommandHere(['ingest', join(folder, 'docs'), '--url', gateway.instance.url, ...more], {
        home: gateway.home.home,
      });
    const first = await run();
    expect([first.code, first.err]).toStrictEqual([0, 'project inferred, branch work (from the working copy)\n']);
    // The branch of the working copy says nothing about another project.
    expect((await run('--project', 'elsewhere')).err).toBe('');
    expect((await run('--branch', 'other')).err).toBe('project inferred (from the working copy)\n');
    expect(
      await gateway.sql(
        'C',
        `select project_id, branch, envelope ->> 'source_url' as source from public.packet_store
         where project_id in ('inferred', 'elsewhere') and packet_type = 'document' order by packet_id`,
      ),
    ).toStrictEqual([
      { project_id: 'inferred', branch: 'work', source: 'docs/a.md' },
      { project_id: 'elsewhere', branch: null, source: 'docs/a.md' },
      { project_id: 'inferred', branch: 'other', source: 'docs/a.md' },
    ]);
  });

  it('names documents whose file is gone, and with --prune deletes those of the folders given and no others', async () => {
    const folder = newFolder();
    mkdirSync(join(folder, '.git'));
    write(folder, 'docs/stays.md', '# Stays');
    write(folder, 'docs/goes.md', '# Goes');
    write(folder, 'docs-old/goes.md', '# Goes, too');
    await ingest(folder, 'pruned');
    await ingest(join(folder, 'docs'), 'pruned', '--branch', 'other');
    rmSync(join(folder, 'docs/goes.md'));
    rmSync(join(folder, 'docs-old/goes.md'));
    const named = await ingest(join(folder, 'docs'), 'pruned');
    expect([named.code, named.err]).toStrictEqual([
      0,
      'docs/goes.md: its file is gone; --prune deletes the document\n',
    ]);
    expect(await documents('pruned')).toHaveLength(5);
    const pruned = await ingest(join(folder, 'docs'), 'pruned', '--prune');
    expect(pruned.out).toBe('0 inserted, 0 updated, 1 unchanged, 1 deleted, 0 failed\n');
    const sources = async () => (await documents('pruned')).map(({ source }) => source);
    expect(await sources()).toStrictEqual(['docs-old/goes.md', 'docs/goes.md', 'docs/stays.md', 'docs/stays.md']);
    const [{ n }] = await gateway.sql(
      'C',
      "select count(*)::integer as n from public.packet_store where project_id = 'pruned' and packet_type = 'section'",
    );
    expect(n).toBe(4);
    await ingest(folder, 'pruned', '--prune');
    expect(await sources()).toStrictEqual(['docs/goes.md', 'docs/stays.md', 'docs/stays.md']);
  });

  it('prunes outside a working copy only the documents with the tags that are given', async () => {
    const [one, other] = [newFolder(), newFolder()];
    write(one, 'goes.md', '# Goes');
    write(other, 'stays.md', '# Stays');
    await ingest(one, 'untracked', '--tags', 'one');
    await ingest(other, 'untracked', '--tags', 'other');
    rmSync(join(one, 'goes.md'));
    const refused = await ingest(one, 'untracked', '--prune');
    expect([refused.code, refused.err]).toStrictEqual([
      1,
      `--prune: ${one} is in no Git working copy, so give --tags that only its documents have\n`,
    ]);
    const pruned = await ingest(one, 'untracked', '--prune', '--tags', 'one');
    expect(pruned.out).toBe('0 inserted, 0 updated, 0 unchanged, 1 deleted, 0 failed\n');
    expect((await documents('untracked')).map(({ source }) => source)).toStrictEqual(['stays.md']);
  });

  it('stores with --watch what changes later', async () => {
    const folder = newFolder();
    write(folder, 'log.md', '# Log\n');
    const child = spawn(
      process.execPath,
      [cli, 'ingest', folder, '--url', gateway.instance.url, '--project', 'watched', '--watch'],
      { env: { ...process.env, L9_MEMORY_HOME: gateway.home.home } },
    );
    running = child;
    let err = '';
    child.stderr.on('data', (data) => {
      err += data;
    });
    await eventually(async () => err.includes('watching'));
    write(folder, 'log.md', '# Log\n\nMore.\n');
    await eventually(async () => {
      const [document] = await documents('watched');
      return document !== undefined && (await wholeOf(document.packet_id)) === '# Log\n\nMore.\n';
    });
  });
});
