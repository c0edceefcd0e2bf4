import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const root = join(import.meta.dirname, '..', '..');
const bundle = join(root, 'dist', 'console');
const LIMIT = 60 * 1024;
const MAX_LINES = 200;

const page = () => readFileSync(join(bundle, 'index.html'), 'utf8');
const assets = () => readdirSync(join(bundle, 'assets'));
const text = (name: string) => readFileSync(join(bundle, 'assets', name), 'utf8');
const sources = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(tsx?|css)$/.test(name) && !name.endsWith('.d.ts'))
    .map((name) => join(folder, name));

/** The libraries of the page of graphs, which are loaded when it opens. */
const isOfGraph = (name: string) => /sigma|graphology|WebGLRenderingContext/.test(text(name));

/** These files, and those that they import at once. */
function withImports(names: readonly string[]): string[] {
  const all = new Set(names.filter((name) => /\.(js|css)$/.test(name)));
  for (const name of all) {
    if (name.endsWith('.js'))
      for (const [, found] of text(name).matchAll(/(?:from|import)"\.\/([^"]+)"/g)) all.add(found!);
  }
  return [...all];
}

describe('the bundle of the console', () => {
  it('loads at most 60 kB, compressed, to open any page but that of graphs', () => {
    const start = assets().filter((name) => page().includes(name));
    const pages = assets().filter((name) => /^view-.*\.js$/.test(name) && !isOfGraph(name));
    expect(pages.length).toBeGreaterThan(3);
    for (const name of pages) {
      // Which style sheets belong to a page is not said in its file, so all of them count.
      const loaded = withImports([...start, name, ...assets().filter((one) => one.endsWith('.css'))]);
      const sizes = loaded.map((one) => gzipSync(text(one), { level: 9 }).length);
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(LIMIT);
    }
  });

  it('loads nothing of the page of graphs at the start', () => {
    const first = assets().filter((name) => page().includes(name) && name.endsWith('.js'));
    expect(first.length).toBeGreaterThan(0);
    expect(first.filter(isOfGraph)).toEqual([]);
  });

  it('names every file by its contents, so that browsers may keep it', () => {
    expect(assets().filter((name) => !/-[\w-]{8}\.\w+$/.test(name))).toEqual([]);
    expect(statSync(join(bundle, 'index.html')).isFile()).toBe(true);
    expect(readdirSync(bundle).sort()).toEqual(['assets', 'index.html']);
  });
});

describe('the sources of the console', () => {
  const files = sources(join(root, 'console', 'src'));

  it('have components of at most 200 lines', () => {
    const long = files.filter(
      (file) => file.endsWith('.tsx') && readFileSync(file, 'utf8').split('\n').length > MAX_LINES,
    );
    expect(long).toEqual([]);
  });

  it('make no HTML from text', () => {
    const made = files.filter((file) =>
      /dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|srcdoc/.test(readFileSync(file, 'utf8')),
    );
    expect(made).toEqual([]);
  });

  it('name colours in tokens.css alone', () => {
    const coloured = files.filter(
      (file) =>
        file.endsWith('.css') && !file.endsWith('tokens.css') && /#[0-9a-f]{3,8}\b/i.test(readFileSync(file, 'utf8')),
    );
    expect(coloured).toEqual([]);
  });

  it('gives each page a key of its own', () => {
    const keys = sources(join(root, 'console', 'src', 'pages')).flatMap(
      (path) => /^ {2}key: '(.)'/m.exec(readFileSync(path, 'utf8'))?.[1] ?? [],
    );
    expect(keys.length).toBeGreaterThan(5);
    expect(keys).toStrictEqual([...new Set(keys)]);
  });
});
