// find_secrets() and the functions behind it: what is found, where, and that the text itself is never returned.
import { useTestDatabase } from '../support/test-database.ts';
import { PERSONAL, SECRETS, token } from './support.ts';

describe('find_secrets', () => {
  const db = useTestDatabase({ rollsBack: true });
  const find = (text: string) => db.sql('C', 'select * from public.find_secrets($1)', [text]);
  const patternsIn = async (text: string) => (await find(text)).map(({ pattern }) => pattern);
  const inDocument = (document: unknown, strict = false) =>
    db.sql('C', 'select * from secrets.find_in_document($1, $2)', [JSON.stringify(document), strict]);
  const redacted = async (document: unknown, strict = false) =>
    (await db.sql('C', 'select * from secrets.redact_document($1, $2)', [JSON.stringify(document), strict]))[0];

  it('has an example of every built-in pattern', async () => {
    // The patterns of providers' tokens and those of sessions have tests of their own.
    const rows = await db.sql(
      'C',
      "select name from public.secret_patterns where tenant_id is null and severity <> 'session'",
    );
    const formats = await db.asOwner('select distinct pattern from secrets.token_formats()');
    const names = new Set([...Object.keys(SECRETS), ...Object.keys(PERSONAL), 'long-token']);
    for (const { pattern } of formats) names.add(pattern);
    expect(rows.map(({ name }) => name).sort()).toStrictEqual([...names].sort());
  });

  it.each(Object.keys({ ...SECRETS, ...PERSONAL }))('finds %s within a text', async (pattern) => {
    const secret = { ...SECRETS, ...PERSONAL }[pattern]!;
    expect(await patternsIn(secret)).toContain(pattern);
    expect(await patternsIn(`Noted on Monday:\n\n${secret}\n\nRotate it.`)).toContain(pattern);
  });

  it('returns the place and the length of a secret, which may stand behind characters of several bytes', async () => {
    const [found] = await find(`Schlüssel 🔑 ${token} für alle, ${token}`);
    expect(found).toStrictEqual({
      pattern: 'github-token',
      position: 13,
      length: token.length,
      severity: 'credential',
      line: 1,
      column: 13,
    });
    expect(await find(`first\r\nsecond\n  ${token}`)).toMatchObject([{ line: 3, column: 3 }]);
    expect(await patternsIn(`${token} ${token}`)).toHaveLength(2);
  });

  it("finds every API key of the tenant's own memory, whatever its route is", async () => {
    for (const call of [
      "register_actor('ops', role => 'l9_platform_admin', readable_scopes => '{*}')",
      "set_tenant_route(identity.default_tenant_id(), 'example')",
    ])
      await db.asOwner(`select ${call}`);
    const keys = await db.sql('L', "select (create_api_key('k' || n, 'C')).api_key from generate_series(1, 50) as n");
    const old = keys.map(({ api_key }) => ({ api_key: `l9_${api_key.slice('l9k_example_'.length)}` }));
    const textsWith = (key: string) => [`use ${key}.`, `"a\\n${key}"`, `https://x.example/?k=${key}`];
    // A search takes as long as a hundred lines of one text do, so that few keys stand in texts of their own.
    for (const { api_key } of [...keys.slice(0, 3), ...old.slice(0, 3)])
      for (const text of textsWith(api_key)) expect(await patternsIn(text), text).toContain('l9-memory-key');
    const lines = [...keys, ...old].flatMap(({ api_key }) => textsWith(api_key));
    const found = (await find(lines.join('\n'))).filter(({ pattern }) => pattern === 'l9-memory-key');
    expect(lines.filter((_, n) => !found.some(({ line }) => line === n + 1))).toStrictEqual([]);
    const [{ api_key: key }] = keys;
    await expect(db.sql('C', 'select save_memory($1)', [`the key is ${key}`])).rejects.toMatchObject({ code: 'L9SEC' });
    expect(await redacted({ content: `see ${key} there` })).toMatchObject({
      document: { content: 'see [redacted: l9-memory-key] there' },
    });
  });

  it.each([
    'The roles l9_agent and l9_platform_admin, and l9_a_name_that_is_longer_than_any_key_of_48_characters_is.',
    'Fixed in commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b.',
    'The memory 0198f3a0-1111-7000-8000-0123456789ab replaces nothing.',
    'sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    '/srv/app/gateway/src/operations/searchMemoryWithExplanation2.ts',
    'The password: must be at least 12 characters. Set OPENAI_API_KEY=<your key>.',
    'if (!user.password) throw new Error("a password is required"); const token = getToken(user.id2);',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of a shell
    'DATABASE_URL=postgres://app:${DB_PASSWORD}@db/app',
    'postgres://user:password@localhost:5432/app',
    'LoadCredential=jwt-secret:/etc/app/jwt-secret\nEnvironment=JWT_SECRET_FILE=%d/jwt-secret',
  ])('finds nothing in %s', async (text) => {
    expect(await find(text)).toStrictEqual([]);
  });

  it.each([
    ['a secret key of AWS with slashes', 'use wJalrXUtn9EMI/K7MDENG/bPxRfiCYq9Zw2Lm4Tp for it', 'aws-secret-key'],
    ['an account number in small letters', 'pay to de89370400440532013000 today', 'iban'],
    ['an address with letters beyond ASCII', 'write to jürgen@müller.de or иван@почта.рф', 'email-address'],
    [
      'a token in which a character of no width stands',
      `see ${token.slice(0, 14)}\u200B${token.slice(14)}.`,
      'github-token',
    ],
    ['a token that begins with one', `see \uFEFF${token}`, 'github-token'],
    ['a password of a client of MySQL', 'mysqldump --user=root -p"S3cretPw99" shop', 'command-line-password'],
    ['a password in a connection string', 'Server=db;Uid=sa;Pwd=Zx81spectrum;', 'connection-password'],
  ])('finds %s', async (_, text, pattern) => {
    expect(await patternsIn(text)).toContain(pattern);
  });

  it.each([
    'see gateway/src/operations/searchMemoryWithExplanation/index2Spec/v2 and docs/README/Setup',
    '/Users/Ada/Library/CloudStorage/OneDrive/Documents/Q3Report2026/Final',
    'docker run -d mysql -p3306:3306 and mysql -h db -P 3306 -p shop --protocol=tcp2',
    'for (a = 1;password = next();) {}',
    '👨‍👩‍👧 and می\u200Cخواهم are written with characters of no width',
    'The ids de12ab34cd56ef7890 and be99aa88bb77cc66 are not account numbers.',
  ])('takes for no secret: %s', async (text) => {
    expect(await find(text)).toStrictEqual([]);
  });

  it('checks the check digits of credit cards and account numbers', async () => {
    for (const pattern of ['credit-card', 'iban']) {
      const wrong = PERSONAL[pattern]!.replace(/(\d)(?=\D*$)/, (digit) => String((Number(digit) + 1) % 10));
      expect(await patternsIn(wrong), wrong).toStrictEqual([]);
    }
  });

  it('finds secrets at any depth of a document, in keys, numbers, and values whose name tells what they are', async () => {
    const deep = { a: [{ b: { c: [{ d: { e: token } }] } }] };
    const first = { position: 1, line: 1, column: 1 };
    expect(await inDocument(deep)).toStrictEqual([{ pattern: 'github-token', path: '$.a[0].b.c[0].d.e', ...first }]);
    expect(await inDocument({ [token]: 1 })).toStrictEqual([{ pattern: 'github-token', path: '$.*', ...first }]);
    expect(await inDocument({ note: `one\ntwo ${token}` })).toMatchObject([{ path: '$.note', line: 2, column: 5 }]);
    expect(await inDocument({ db: { password: 'Xq7-wz3K9' } })).toMatchObject([
      { pattern: 'named-secret', path: '$.db.password' },
    ]);
    expect(await inDocument([4539148803436467], true)).toMatchObject([{ pattern: 'credit-card', path: '$[0]' }]);
    expect(await inDocument([4539148803436467])).toStrictEqual([]);
  });

  it('never returns the text of a secret, nor a key that is one', async () => {
    const answers = JSON.stringify([await find(token), await inDocument({ [token]: { inner: token } })]);
    expect(answers).not.toContain(token.slice(4, 20));
  });

  it('looks for personal data and long tokens only if it is strict', async () => {
    for (const [pattern, text] of Object.entries({
      ...PERSONAL,
      'long-token': `${'a1b2'.repeat(11)}/Zz9+q7RzW2mKx9TvB4nLp6Yc`,
    })) {
      expect(await inDocument({ text }), pattern).toStrictEqual([]);
      expect(
        (await inDocument({ text }, true)).map((found) => found.pattern),
        pattern,
      ).toContain(pattern);
    }
  });

  it('replaces every secret of a document, counts them, and leaves nothing to find', async () => {
    const document = {
      note: 'kept',
      list: Object.values(SECRETS),
      nested: { [token]: [`see ${token}, ${token}.`] },
      n: 7,
    };
    const { document: clean, replaced } = await redacted(document);
    expect(replaced).toBeGreaterThanOrEqual(Object.keys(SECRETS).length + 2);
    expect(clean.note).toBe('kept');
    expect(clean.n).toBe(7);
    expect(clean.nested).toStrictEqual({
      '[redacted: github-token]': ['see [redacted: github-token], [redacted: github-token].'],
    });
    expect(await inDocument(clean)).toStrictEqual([]);
    expect(await redacted(clean)).toStrictEqual({ document: clean, replaced: 0 });
  });

  it('keeps a document without secrets as it is', async () => {
    for (const document of [{}, [], null, 'text', 1.5, { a: [{}, [], ''], token: null, password: 'string' }])
      expect(await redacted(document, true)).toStrictEqual({ document, replaced: 0 });
  });

  it('refuses a text of more than 1 MiB', async () => {
    await expect(find('a'.repeat(1_048_577))).rejects.toMatchObject({ code: 'L9LIM' });
  });

  it.each([
    'Commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b repaired gateway/src/operations/searchMemoryWithExplanation.ts.',
    'sha256:9F86D081884C7D659A2FEAA0C55AD015A3BF4F1B2B0B822CD15D6C15B0F00A08 and 0198f3a0-1111-7000-8000-0123456789ab',
    'The token 5 of max_tokens=1024, token_count: 12, password: string, and keys are kept for 30 days.',
  ])('needs no second look at %s', async (text) => {
    const [row] = await db.asOwner('select secrets.needs_look($1, null, false) as guard', [text]);
    expect(row).toStrictEqual({ guard: false });
  });

  it('passes every text that a pattern matches through the quick test of its severity', async () => {
    for (const [pattern, text] of Object.entries(SECRETS)) {
      const [row] = await db.asOwner('select secrets.needs_look($1, null, false) as guard', [text]);
      expect(row, pattern).toStrictEqual({ guard: true });
    }
  });
});
