// The patterns for sessions fail closed: they find every exported value, every value of a secret's name, every long token.
import { describeOnEmbedded } from '../support/on-engine.ts';
import { useTestDatabase } from '../support/test-database.ts';

const REFUSED = [
  'export SECRET_KEY=mysupersecretvalue',
  'export SECRET_KEY="correct horse battery"',
  'export EDITOR=vim',
  "export GREETING='hello\nworld'",
  'declare -x TOKEN_OF=value',
  'setenv LICENSE abcdef',
  'set -gx LICENSE abcdef',
  '$env:LICENSE = "abcdef"',
  'SECRET_KEY="correct horse battery"',
  'PASSWORD=zebra7lamp',
  'DB_PASSWORD=zebralamp',
  'password: hunter3secret9',
  "password: 'correct horse battery'",
  'the\npassword: hunterhunter\nin yaml',
  '0123456789abcdef0123456789abcdef',
  '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b',
  'abcdefghijklmnopqrstuvwxyzabcdefgh',
  '98765432109876543210987654321098',
  'the password: `lantern-4`',
  '**Kennwort** — laterne44',
  'keytool -genkey -storepass sunflower7 -keypass moonflower8 -alias app',
  'snmpwalk -v3 -u ada -A sunflower7 -X moonflower8 switch',
] as const;

describeOnEmbedded('a session', () => {
  const db = useTestDatabase({ rollsBack: true });
  const find = (document: unknown) =>
    db.sql('C', 'select pattern, path, line, "column" from secrets.find_in_document($1, true)', [
      JSON.stringify(document),
    ]);

  it.each(REFUSED)('is refused with %s, and free of it once it is redacted', async (text) => {
    const document = { messages: [{ role: 'user', text: `before\n${text}` }] };
    const found = await find(document);
    expect(found).not.toStrictEqual([]);
    expect(found[0]).toMatchObject({ path: '$.messages[0].text' });
    const [row] = await db.sql('C', 'select (secrets.redact_document($1, true)).*', [JSON.stringify(document)]);
    expect(row.replaced).toBeGreaterThan(0);
    expect(await find(row.document)).toStrictEqual([]);
    const [answer] = await db.sql('C', "select findings from archive.prepare_session_archive($1, project_id => 'l9')", [
      JSON.stringify({ session_id: 's-1', summary: text }),
    ]);
    expect(answer.findings[0]).toMatchObject({
      path: '$.summary',
      line: expect.any(Number),
      column: expect.any(Number),
    });
  });

  it('is refused with such a value under the name of a secret', async () => {
    expect(await find({ input: { password: 'correct horse battery' } })).toMatchObject([{ path: '$.input.password' }]);
  });

  it.each([
    'Changed gateway/src/operations/searchMemoryWithExplanation.ts and 0198f3a0-1111-7000-8000-0123456789ab.',
    'const token = await getToken(user.id); password: string; secret: null; export type Token = string;',
    'OPENAI_API_KEY=<your key> and password=******** in .env',
  ])('is kept with %s', async (text) => {
    expect(await find({ messages: [{ role: 'user', text }] })).toStrictEqual([]);
  });

  it('is stricter than saves and find_secrets(), unless that is asked for a session', async () => {
    const text = 'Fixed in 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b; export EDITOR=vim';
    expect(await db.sql('C', 'select * from public.find_secrets($1)', [text])).toStrictEqual([]);
    expect(await db.sql('C', 'select * from public.find_secrets($1, is_session => true)', [text])).toHaveLength(2);
    await db.sql('C', "select public.save_memory($1, project_id => 'l9')", [text]);
  });
});
