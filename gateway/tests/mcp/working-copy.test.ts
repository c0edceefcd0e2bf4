// What is inferred from the working copy in which an editor starts `l9-memory mcp`.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { isBranch } from '../../src/input/names.ts';
import { inferWorkingCopy } from '../../src/mcp/working-copy.ts';

const folder = mkdtempSync(join(tmpdir(), 'l9-working-copy-'));
afterAll(() => rmSync(folder, { recursive: true }));

const none = { project: null, branch: null, org: null };
const author = ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.com'];
const git = (cwd: string, ...args: string[]) => execFileSync('git', [...author, ...args], { cwd, stdio: 'pipe' });

/** A repository with one commit on a branch. */
function repository(name: string, branch: string, remote?: string): string {
  const root = join(folder, name);
  mkdirSync(join(root, 'src', 'deep'), { recursive: true });
  git(root, 'init', '--quiet', `--initial-branch=${branch}`);
  writeFileSync(join(root, 'a'), 'a');
  git(root, 'add', 'a');
  git(root, 'commit', '--quiet', '-m', 'a');
  if (remote) git(root, 'remote', 'add', 'origin', remote);
  return root;
}

describeOnEmbedded('the working copy of an editor', () => {
  it('names the project, the branch and the org of the remote', () => {
    const root = repository('site', 'feature/gate-2', 'git@example.com:acme/site.git');
    const expected = { project: 'site', branch: 'feature/gate-2', org: 'acme', reason: null };
    expect(inferWorkingCopy(none, root)).toEqual(expected);
    expect(inferWorkingCopy(none, join(root, 'src', 'deep'))).toEqual(expected);
    git(root, 'worktree', 'add', '--quiet', '-b', 'other', join(folder, 'site-other'));
    expect(inferWorkingCopy(none, join(folder, 'site-other'))).toEqual({
      ...expected,
      project: 'site-other',
      branch: 'other',
    });
  });

  it.each([
    ['https://example.com/acme/site.git', 'acme'],
    ['https://ann:password@example.com:8443/acme/group/site', 'acme'],
    ['ssh://git@example.com:22/acme/site', 'acme'],
    ['git@example.com:acme/site', 'acme'],
    ['example:/srv/site', 'srv'],
    ['https://example.com/site.git', null],
    ['/srv/git/site.git', null],
    ['../site', null],
    ['C:/git/acme/site', null],
  ])('takes the org from the remote %s', (remote, org) => {
    const root = repository(`of ${remote.replace(/\W/g, '')}`, 'main', remote);
    expect(inferWorkingCopy(none, root).org).toBe(org);
  });

  it('gives way to what the environment names', () => {
    const root = repository('shop', 'main', 'https://example.com/acme/shop');
    const named = { project: 'acme/shop', branch: 'release/1', org: 'Acme Ltd' };
    expect(inferWorkingCopy(named, root)).toEqual({ ...named, reason: null });
    expect(inferWorkingCopy({ ...named, branch: null }, root)).toMatchObject({ ...named, branch: 'main' });
    expect(inferWorkingCopy(named, folder)).toEqual({ ...named, reason: null });
  });

  it('says in one message what is missing and why', () => {
    expect(inferWorkingCopy(none, folder)).toEqual({
      ...none,
      reason:
        'the folder belongs to no Git repository, so calls that name no project_id or branch have no default of their own: a save goes to project default and every branch. Set L9_PROJECT and L9_BRANCH to give them one.',
    });
    const root = repository('detached', 'main');
    git(root, 'checkout', '--quiet', '--detach');
    expect(inferWorkingCopy(none, root)).toMatchObject({
      project: 'detached',
      branch: null,
      reason: expect.stringMatching(
        /^no branch is checked out \(HEAD is detached\), so calls that name no branch have .*Set L9_BRANCH/,
      ),
    });
    const withoutGit = { ...process.env, PATH: join(folder, 'nothing') };
    expect(inferWorkingCopy(none, root, withoutGit)).toMatchObject({
      project: 'detached',
      branch: null,
      org: null,
      reason: expect.stringMatching(/^Git is not installed, .*Set L9_BRANCH/),
    });
    mkdirSync(join(folder, 'broken', '.git'), { recursive: true });
    expect(inferWorkingCopy(none, join(folder, 'broken'))).toMatchObject({
      project: 'broken',
      branch: null,
      reason: expect.stringMatching(/^Git cannot read the repository, /),
    });
    expect(inferWorkingCopy(none, repository('two words', 'main'))).toMatchObject({
      project: null,
      branch: 'main',
      reason: expect.stringMatching(/^the name of the Git working copy cannot be a project_id, .*Set L9_PROJECT to/),
    });
  });

  it('accepts the branches that Git does', () => {
    const names = [
      'main',
      'a/b',
      'ümläut',
      'a@b',
      '@',
      '-a',
      'a..b',
      'a b',
      'a.lock',
      'a/.b',
      'a/',
      'a:b',
      'a\\b',
      'a@{b',
      'a[b',
      '*',
    ];
    const isAllowed = (name: string) => {
      try {
        return Boolean(git(folder, 'check-ref-format', '--branch', name));
      } catch {
        return false;
      }
    };
    expect(names.filter(isBranch)).toEqual(names.filter((name) => name !== '@' && isAllowed(name)));
    expect([isBranch('x'.repeat(255)), isBranch('x'.repeat(256)), isBranch('')]).toEqual([true, false, false]);
  });
});
