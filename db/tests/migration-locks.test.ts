// What a new migration may not do to a table that gateways of the former version use meanwhile.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { committedFiles, committedFolder } from '../../scripts/generate/migration.ts';
import { describeOnEmbedded } from './support/on-engine.ts';

/** Earlier ones were released before the rule, and never change. */
const LAST_BEFORE_THE_RULE = 5;

const NAME = '(?:if (?:not )?exists )?(?:only )?"?([a-z_][a-z0-9_]*"?(?:\\."?[a-z_][a-z0-9_]*)?)"?';

interface Rule {
  pattern: RegExp;
  why: string;
  /** What does it without the problem. */
  instead: string;
  /** Whether it does no harm to a table that this migration has made. */
  isFineOnNew: boolean;
}

const ofTable = (rest: string) => new RegExp(`^alter table ${NAME} (?:.*?\\W)?${rest}`, 'is');
const RULES: readonly Rule[] = [
  {
    pattern: new RegExp(`^create (?:unique )?index .*? on ${NAME}`, 'is'),
    why: 'no row can be written while the index is built',
    instead: 'say in `-- locks:` how many rows the table has at most',
    isFineOnNew: true,
  },
  {
    pattern: ofTable('add (?:constraint "?\\w+"? )?(?:check|foreign key)\\b(?!.*not valid\\s*$)'),
    why: 'no row can be read while all rows are checked',
    instead: 'add it `not valid`, and `validate constraint` in a later migration',
    isFineOnNew: true,
  },
  {
    pattern: ofTable('add (?:constraint "?\\w+"? )?(?:unique|primary key|exclude)\\b'),
    why: 'no row can be read while its index is built',
    instead: 'say in `-- locks:` how many rows the table has at most',
    isFineOnNew: true,
  },
  {
    pattern: ofTable('set not null'),
    why: 'no row can be read while all rows are checked',
    instead: 'add a check `not valid` first, and validate it in a later migration',
    isFineOnNew: true,
  },
  {
    pattern: ofTable('(?:alter (?:column )?"?\\w+"? (?:set data )?type|set (?:un)?logged|set tablespace)\\b'),
    why: 'the table is written again while nobody reads it',
    instead: 'add a column, and drop the old one in a later version',
    isFineOnNew: true,
  },
  {
    pattern: ofTable('add (?:column )?(?:if not exists )?"?\\w+"? [^,]*(?:\\bstored\\b|default [^,]*\\w\\()'),
    why: 'the table is written again while nobody reads it',
    instead: 'add the column without the default, fill it, then set the default',
    isFineOnNew: true,
  },
  {
    pattern: ofTable('(?:drop (?:column )?(?!constraint|not null|default|expression|identity)|rename\\b|set schema)'),
    why: 'the former version uses that name',
    instead: 'drop it in the version after the last one that uses it, and say so in `-- locks:`',
    isFineOnNew: true,
  },
  {
    pattern: new RegExp(`^drop (?:table|view|materialized view|sequence|type|schema) ${NAME}`, 'is'),
    why: 'the former version uses that name',
    instead: 'drop it in the version after the last one that uses it, and say so in `-- locks:`',
    isFineOnNew: true,
  },
  {
    pattern: new RegExp(`^(?:lock|cluster|truncate|reindex|vacuum)\\b(?: table| full| verbose)* ?(?:${NAME})?`, 'is'),
    why: 'nobody reads the table meanwhile',
    instead: 'do without it',
    isFineOnNew: false,
  },
];

const blank = (text: string) => text.replaceAll(/[^\n]/g, ' ');

/** The statements of a migration without bodies of functions, texts and comments, each with the comment above it. */
function statementsOf(sql: string) {
  const code = sql
    .replaceAll(/--.*|'(?:[^']|'')*'|\$(\w*)\$[\s\S]*?\$\1\$/g, blank)
    .replaceAll(/\bbegin atomic\b[\s\S]*?\n\s*end;/gi, blank);
  let start = 0;
  return [...code.matchAll(/;/g)].map(({ index }) => {
    const [text, whole] = [code.slice(start, index), sql.slice(start, index)];
    start = index + 1;
    return { text: text.trim().replaceAll(/\s+/g, ' '), reason: /^-- locks: \S.*/m.exec(whole)?.[0] ?? null };
  });
}

/** What is wrong with a migration, a line for each statement. */
function problemsOf(sql: string): string[] {
  const made = new Set<string>();
  return statementsOf(sql).flatMap(({ text, reason }) => {
    const table = new RegExp(`^create (?:unlogged )?table ${NAME}`, 'i').exec(text)?.[1];
    if (table) made.add(table);
    const broken = RULES.find(({ pattern, isFineOnNew }) => {
      const found = pattern.exec(text);
      return found && !(isFineOnNew && made.has(found[1] ?? ''));
    });
    return broken && !reason ? [`${text.slice(0, 100)}: ${broken.why}; ${broken.instead}`] : [];
  });
}

describeOnEmbedded('a new migration', () => {
  it.each([
    'create index packet_store_a_idx on public.packet_store (a)',
    'alter table public.packet_store add constraint short check (a < 3)',
    'alter table public.packet_store add foreign key (a) references public.tasks',
    'alter table public.packet_store add constraint one unique (a)',
    'alter table only public.packet_store alter column a set not null',
    'alter table public.packet_store alter a type bigint',
    'alter table public.packet_store add column if not exists a uuid default uuidv7()',
    'alter table public.packet_store add column b integer generated always as (a + 1) stored',
    'alter table public.packet_store drop column if exists a',
    'alter table public.packet_store rename column a to b',
    'drop table public.tasks',
    'drop view if exists cortex.adr_decision',
    'lock table public.packet_store',
    'truncate public.tasks',
  ])('may not say `%s` without a reason', (statement) => {
    expect(problemsOf(`${statement};`)).toHaveLength(1);
    expect(problemsOf(`-- locks: the table has a hundred rows at most\n${statement};`)).toStrictEqual([]);
  });

  it('may add what the former version does not notice', () => {
    const fine = `
      -- The former version's code doesn't know it.
      create table public.pins (a integer, b text);
      create index pins_a_idx on public.pins (a);
      alter table public.pins add constraint pins_short check (a < 3);
      alter table public.packet_store add column if not exists a integer default 3;
      alter table public.packet_store add constraint short check (a < 3) not valid;
      alter table public.packet_store drop constraint if exists short;
      alter table public.packet_store alter column a drop not null;
      alter table public.packet_store validate constraint short;
      create function public.f() returns void language sql as $$ truncate public.tasks; lock public.tasks; $$;
      comment on table public.pins is 'It says; drop table public.tasks;';
      drop policy if exists scope_access on public.tasks;
      drop function if exists public.f();`;
    expect(problemsOf(fine)).toStrictEqual([]);
  });

  it('holds no lock for long that the former version waits for', () => {
    const files = committedFiles().filter((file) => Number.parseInt(file, 10) > LAST_BEFORE_THE_RULE);
    const problems = files.flatMap((file) =>
      problemsOf(readFileSync(join(committedFolder, file), 'utf8')).map((problem) => `${file}: ${problem}`),
    );
    expect(problems).toStrictEqual([]);
  });
});
