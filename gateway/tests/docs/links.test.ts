// The pages of the documentation: where they stand, and that no link leads nowhere.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const root = join(import.meta.dirname, '..', '..', '..');
const find = (...patterns: string[]) =>
  globSync(patterns, { cwd: root, exclude: ['**/node_modules/**'] })
    .map((path) => path.replaceAll('\\', '/'))
    .sort();
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const withoutCode = (page: string) => page.replaceAll(/^ *```[\s\S]*?^ *```/gm, '');

const pages = find(
  '*.md',
  '.github/**/*.md',
  'docs/**/*.md',
  'db/**/*.md',
  'bench/**/*.md',
  'gateway/**/*.md',
  'clients/**/*.md',
  'tools/**/*.md',
  'deploy/**/*.md',
);

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading] of withoutCode(page).matchAll(/^#{1,6} +(.+?) *$/gm)) {
    const slug = heading!
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-');
    let anchor = slug;
    for (let again = 1; anchors.has(anchor); again++) anchor = `${slug}-${again}`;
    anchors.add(anchor);
  }
  return anchors;
}

/** Says what is wrong with a link that stands in the file `from`, or null. */
function faultOf(link: string, from: string): string | null {
  const [path, anchor] = decodeURI(link).split('#') as [string, string?];
  const target = path ? join(root, dirname(from), path) : join(root, from);
  if (!existsSync(target)) return `${from}: ${link}: there is no such file`;
  const isPage = target.endsWith('.md');
  if (anchor === undefined || !isPage) return null;
  return anchorsOf(readFileSync(target, 'utf8')).has(anchor) ? null : `${from}: ${link}: the page has no such heading`;
}

const linksOf = (path: string) =>
  [...withoutCode(read(path)).matchAll(/\]\(<?([^)\s>]+)>?\)/g)]
    .map(([, link]) => link!)
    .filter((link) => !/^[a-z]+:/.test(link));

describe('the documentation', () => {
  it('has no relative link that leads nowhere', () => {
    expect(pages.length).toBeGreaterThan(60);
    expect(pages.flatMap(linksOf).length).toBeGreaterThan(150);
    expect(pages.flatMap((path) => linksOf(path).flatMap((link) => faultOf(link, path) ?? []))).toStrictEqual([]);
  });

  it('is named in code, comments and scripts by paths that exist', () => {
    const files = find(
      '*.{md,json,yml,js,mjs}',
      '.env.example',
      '.ci/*',
      '{db,gateway,scripts,bench,tests,interop,docker,docs,tools}/**/*.{ts,cjs,sql,md,json,yml,sh}',
      'gateway/schema.graphql',
    );
    expect(files.length).toBeGreaterThan(1_000);
    // Tests also have made-up paths, in their data.
    const textOf = (path: string) =>
      /(^|\/)tests\//.test(path) ? (read(path).match(/^ *(\/\/|\/?\*|describe\().*/gm) ?? []).join('\n') : read(path);
    const faults = files.flatMap((path) =>
      // `docs/` after another folder is that of another project.
      [...textOf(path).matchAll(/(?<![\w./-])docs\/[\w./-]+\.md(#[\w-]+)?/g)].flatMap(
        ([named]) => faultOf(relative(dirname(path), named), path) ?? [],
      ),
    );
    expect(faults).toStrictEqual([]);
  });

  it('names sources by paths that exist', () => {
    // A recipe writes … for a part that it leaves open, and the operation that it adds is not there.
    const named = pages.flatMap((page) =>
      [...read(page).matchAll(/`((?:db|gateway|bench|scripts|interop|tests)\/[^`\s]+)`/g)]
        .map(([, path]) => path!)
        .filter((path) => !path.includes('pin-memory'))
        .map((path) => ({ page, path, pattern: path.replaceAll(/…|<[^>]+>/g, '*').replaceAll('NNN', '*') })),
    );
    expect(named.length).toBeGreaterThan(30);
    const faults = named.filter(({ pattern }) => globSync(pattern, { cwd: root }).length === 0);
    expect(faults.map(({ page, path }) => `${page}: ${path}`)).toStrictEqual([]);
  });

  it('keeps each page in the folder of its kind', () => {
    const places = find('docs/**/*.md').map((path) => path.slice('docs/'.length));
    expect(places.filter((path) => !/^(tutorial|how-to|reference|explanation)\/[a-z-]+\.md$/.test(path))).toStrictEqual(
      ['README.md', 'contributing.md', 'glossary.md'],
    );
  });

  it('lists each page once, in docs/README.md', () => {
    const listed = linksOf('docs/README.md').filter((link) => !link.startsWith('..'));
    expect(listed.toSorted()).toStrictEqual(
      find('docs/**/*.md')
        .map((path) => path.slice('docs/'.length))
        .filter((path) => path !== 'README.md'),
    );
  });
});
