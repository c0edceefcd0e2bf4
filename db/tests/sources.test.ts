// The SQL sources as a book: a chapter rests on the chapters before it.
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..');

const files = globSync('schema/*/*.sql', { cwd: root })
  .sort()
  .map((path) => ({
    path: path.replaceAll('\\', '/'),
    chapter: basename(dirname(path)),
    text: readFileSync(join(root, path), 'utf8'),
  }));
/** The schema of a chapter: 010-identity has the schema identity. */
const schemaOf = (chapter: string) => chapter.slice(4).replaceAll('-', '_');
/** The chapter that creates a name: a helper's schema, or a table or function of the schema public. */
const chapterOf = new Map<string, string>();
for (const { chapter, text } of files) {
  chapterOf.set(schemaOf(chapter), chapter);
  for (const [, name] of text.matchAll(
    /^create (?:table|view|materialized view|function|procedure|type) (public\.\w+)/gm,
  ))
    if (!chapterOf.has(name!)) chapterOf.set(name!, chapter);
}
const codeOf = (text: string) =>
  text
    .replaceAll(/--.*/g, '')
    .replaceAll(/^comment on [^;]*? is(?:\s+'(?:[^']|'')*')+;/gm, '')
    .replaceAll(/^call identity\.describe\('[\w.]+', '(?:[^']|'')*'\);/gm, '');
/** Each function and procedure: its name, how many lines it has, and the lines above it. */
function functionsOf(source: string) {
  // Functions that are written by another one stand in $sql$ … $sql$.
  const text = source.replaceAll(/\$sql\$[\s\S]*?\$sql\$/g, (written) => written.replaceAll(/./g, ' '));
  return [...text.matchAll(/^create (?:or replace )?(?:function|procedure) (\w+\.\w+)/gm)].map(({ 1: name, index }) => {
    const rest = text.slice(index);
    // A body is quoted, or begins with `begin atomic`, or is an expression, which ends with its line.
    const [, quote, isAtomic] = /\bas (\$\w*\$)$|^(begin atomic)|\breturn |;$/m.exec(rest) ?? [];
    const end = rest.indexOf(quote ? `${quote};` : isAtomic ? '\nend;' : ';\n');
    return {
      name: name!,
      lines: rest
        .slice(0, end + 2)
        .trimEnd()
        .split('\n').length,
      above: text.slice(0, index).split('\n').slice(0, -1),
    };
  });
}

describe('db/schema', () => {
  it('refers to no later chapter, with three exceptions', () => {
    const forward = files.flatMap(({ path, chapter, text }) =>
      [...new Set(codeOf(text).match(/\b[a-z_0-9]+\.[a-z_0-9]+/g))]
        .filter((name) => {
          const owner = chapterOf.get(name) ?? chapterOf.get(name.split('.')[0]!);
          return owner !== undefined && owner > chapter;
        })
        .map((name) => `${path}: ${name}`),
    );
    expect(forward).toStrictEqual([
      // Each read of an operator is audited, so the policies of the first chapter need the second one.
      'schema/010-identity/090-operator-reads.sql: audit.write_audit',
      // No audit row holds a secret that a caller named, and the tables of the chapter of secrets are audited themselves.
      ...['public.secret_settings', 'secrets.needs_look', 'secrets.redact_texts', 'secrets.severities_for'].map(
        (name) => `schema/020-audit/030-write-audit.sql: ${name}`,
      ),
      // A tenant that moved here brought searches with it, whose texts an erasure deletes, too.
      'schema/310-forgetting/050-erase-query-texts.sql: transfer.imported_audit_log',
    ]);
  });

  it('replaces no function of another chapter', () => {
    // A reader takes the body that stands in a file for the one that runs.
    const replaced = files.flatMap(({ path, text }) =>
      [...text.matchAll(/^create or replace \w+ [\w.]+/gm)].map(([line]) => `${path}: ${line}`),
    );
    expect(replaced).toStrictEqual([]);
  });

  it('lists its chapters in parts, in 000-chapters.sql and in the README', () => {
    const [, ...parts] = readFileSync(join(root, 'schema/000-chapters.sql'), 'utf8').split(/^-- (?=[A-Z][\w ]+$)/m);
    const listed = parts.map((part) => ({
      part: /^[\w ]+/.exec(part)![0],
      // The schemas partitions and cortex hold tables and views of the chapters audit and views.
      schemas: [...part.matchAll(/^create schema (\w+);/gm)]
        .map(([, schema]) => schema!)
        .filter((schema) => chapterOf.has(schema)),
    }));
    const chapters = [...new Set(files.map(({ chapter }) => chapter))];
    expect(listed.flatMap(({ schemas }) => schemas)).toStrictEqual(chapters.map(schemaOf));
    const readme = readFileSync(join(root, 'README.md'), 'utf8');
    for (const { part, schemas } of listed) {
      const names = schemas.map((schema) => chapters.find((chapter) => schemaOf(chapter) === schema)!.slice(4));
      expect(readme).toContain(`| ${part} | ${names.join(', ')} |`);
    }
  });

  it('numbers chapters and files by their order', () => {
    const misnumbered = files
      .map(({ path }) => path)
      .filter((path) => !/^schema\/\d{3}-[a-z-]+\/\d{3}-[a-z-]+\.sql$/.test(path));
    expect(misnumbered).toStrictEqual([]);
  });

  it('describes each chapter in a README', () => {
    for (const chapter of new Set(files.map(({ chapter }) => chapter)))
      expect(readFileSync(join(root, 'schema', chapter, 'README.md'), 'utf8')).toMatch(/^# \w/);
  });

  it('opens each file with a sentence on what it holds', () => {
    const silent = files.filter(({ text }) => !/^-- [\s\S]*?\.$/m.test(/^(?:-- .*\n)*/.exec(text)![0]));
    expect(silent.map(({ path }) => path)).toStrictEqual([]);
  });

  it('says of each function of more than 30 lines how it works, above it', () => {
    const long = files.flatMap(({ path, text }) =>
      functionsOf(text)
        .filter(({ lines }) => lines > 30)
        .map((found) => ({ path, ...found })),
    );
    expect(long.length).toBeGreaterThan(80);
    // The head of a file may stand above its first function, with an empty line between.
    const silent = long.filter(
      ({ above }) => !above.at(-1)?.startsWith('--') && !above.every((line) => /^(--|$)/.test(line)),
    );
    expect(silent.map(({ path, name, lines }) => `${path}: ${name}, ${lines} lines`)).toStrictEqual([]);
  });

  it('has no line of more than 130 characters', () => {
    const long = files.flatMap(({ path, text }) =>
      text.split('\n').flatMap((line, n) => ([...line].length > 130 ? [`${path}:${n + 1}`] : [])),
    );
    expect(long).toStrictEqual([]);
  });

  it('lets no function choose between a column and a variable of one name', () => {
    // Such a name is an error instead, which plpgsql-check.test.ts finds.
    expect(files.filter(({ text }) => text.includes('#variable_conflict')).map(({ path }) => path)).toStrictEqual([]);
  });

  it('cites names rather than chapter or file numbers', () => {
    const cited = files.flatMap(({ path, text }) =>
      [...text.matchAll(/.*(?:chapter|file)s? \d{2,3}\b.*|.*\(\d{3}\).*/gi)].map(([line]) => `${path}: ${line.trim()}`),
    );
    expect(cited).toStrictEqual([]);
  });
});
