// Which folder that a client works in decides about the project.
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { placeOfRoots } from '../../src/mcp/roots.ts';
import type { Place } from '../../src/mcp/working-copy.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'l9-roots-')));
afterAll(() => rmSync(folder, { recursive: true }));

const make = (name: string, isRepository = true) => {
  const path = join(folder, name);
  mkdirSync(join(path, ...(isRepository ? ['.git'] : [])), { recursive: true });
  return path;
};
const none: Place = { project: null, branch: null, org: null };
const placeIn = (cwd: string, roots: string[], named = none) =>
  placeOfRoots(
    roots.map((uri) => ({ uri })),
    { named, folder: cwd, env: process.env },
  )?.project;

describe('the list of roots of a client', () => {
  const home = make('home', false);
  const [site, shop, plain] = [make('site'), make('shop'), make('plain', false)];
  const uri = (path: string) => pathToFileURL(path).href;

  it('decides by the first that lies in a Git working copy', () => {
    expect(placeIn(home, [uri(plain), uri(site), uri(shop)])).toBe('site');
    mkdirSync(join(shop, 'src'));
    expect(placeIn(home, [uri(join(shop, 'src'))])).toBe('shop');
  });

  it('decides where the process was started in a working copy of none of them', () => {
    expect(placeIn(site, [uri(shop)])).toBe('shop');
  });

  it('decides nothing where the process was started in one of them', () => {
    expect(placeIn(site, [uri(shop), uri(site)])).toBeUndefined();
    expect(placeIn(join(shop, 'src'), [uri(shop)])).toBeUndefined();
    expect(placeIn(home, [uri(folder)])).toBeUndefined();
  });

  it('decides nothing where none is a folder with a project', () => {
    expect(placeIn(home, [])).toBeUndefined();
    const others = [
      'https://example.com/site',
      'file://elsewhere/site',
      'file:///no/such/folder',
      'not an address',
      '',
    ];
    expect(placeIn(home, [...others, uri(plain)])).toBeUndefined();
  });

  it('gives way to what the environment names', () => {
    expect(placeIn(home, [uri(site)], { ...none, project: 'named' })).toBe('named');
  });
});
