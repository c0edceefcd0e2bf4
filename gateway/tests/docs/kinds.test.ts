// docs/reference/kinds.md: its table is that of the rows, and its examples run as they are written.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cheapEmbedder } from '../access/attacker.ts';
import { useTestGateway } from '../support/gateway.ts';
import { runBlocks } from './blocks.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const page = readFileSync(join(root, 'docs', 'reference', 'kinds.md'), 'utf8');
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(([, body]) => body!);

interface Part {
  field: string;
  type?: string;
  is_required?: boolean;
}

interface Kind {
  kind: string;
  view: string;
  fields: { field: string; type: string; is_required: boolean; choices: string[] | null; parts: Part[] | null }[];
  identity_fields: string[];
  identity_ends_when: Record<string, string[]> | null;
  locked_when: Record<string, string[] | true> | null;
  locked_fields: string[] | null;
  allowed_when_locked: Record<string, string[] | true>;
  part_of_kind: string | null;
  archived_from: string | null;
  archived_after: string | null;
  expires_from: string | null;
  expires_after: string | null;
}

const named = (field: string) => (field === 'content' ? 'the text' : `\`${field}\``);
const list = (names: readonly string[], or = 'and') =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} ${or} ${names.at(-1)}`;
const condition = (when: Record<string, string[] | true>) =>
  list(
    Object.entries(when).map(([f, values]) =>
      values === true ? `${named(f)} is set` : `${named(f)} is ${list(values, 'or')}`,
    ),
  );

const cells = (kind: Kind) => {
  const described = ({ field, is_required }: Part, detail: string) =>
    `${named(field)}${is_required ? '*' : ''}${detail && ` (${detail})`}`;
  const typeOf = (type = 'text') => (type === 'text' ? '' : type);
  const fields = kind.fields.map((field) => {
    const parts = field.parts?.map((part) => described(part, typeOf(part.type))).join(', ');
    return described(field, field.choices?.join(', ') ?? (parts ? `${field.type}: ${parts}` : typeOf(field.type)));
  });
  const same = kind.identity_fields.map((name) => name.split('|').map(named).join(', else ')).join(' + ') || 'the text';
  const locked = kind.part_of_kind
    ? `with its ${kind.part_of_kind}`
    : kind.locked_when
      ? `${Object.keys(kind.locked_when).length ? `once ${condition(kind.locked_when)}` : 'always'}: ${kind.locked_fields ? list(kind.locked_fields.map(named)) : `everything but ${list(Object.entries(kind.allowed_when_locked).map(([f, values]) => (values === true ? named(f) : `${named(f)} → ${list(values, 'or')}`)))}`}`
      : '–';
  const leaves = kind.part_of_kind
    ? `with its ${kind.part_of_kind}`
    : kind.archived_from
      ? `archived ${kind.archived_after} after \`${kind.archived_from}\``
      : kind.expires_from
        ? `expires ${kind.expires_after} after \`${kind.expires_from}\``
        : '–';
  const until = kind.identity_ends_when ? `, until ${condition(kind.identity_ends_when)}` : '';
  return [`\`${kind.kind}\``, `\`${kind.view}\``, fields.join(', '), `${same}${until}`, locked, leaves];
};

describe('docs/reference/kinds.md', () => {
  const gateway = useTestGateway({ embedder: cheapEmbedder });

  it('has the table of the built-in kinds, as their rows say', async () => {
    const kinds: Kind[] = await gateway.asSuperuser(
      `select k.*, kinds.view_name(k.kind) as view, k.archived_after::text, k.expires_after::text,
         (select json_agg(f order by f.place) from public.memory_kind_fields f where f.kind_id = k.kind_id) as fields
       from public.memory_kinds k where k.tenant_id is null order by k.kind_id`,
    );
    const rows = kinds.map((kind) => `| ${cells(kind).join(' | ')} |`);
    const shown = page.split('\n').filter((line) => /^\| `\w+` \| `\w+` \|/.test(line));
    expect(shown).toStrictEqual(rows);
  });

  it('has requests that run: a kind is registered, used and shown', async () => {
    const [register, store, ask, rulesOf] = blocks('graphql');
    const answers = blocks('json').map((answer) => JSON.parse(answer));
    for (const [i, [caller, request]] of (
      [
        ['L', register],
        ['C', store],
        ['C', ask],
        ['C', rulesOf],
      ] as const
    ).entries()) {
      const { data, errors } = await gateway.graphql(caller, request!);
      expect(errors, JSON.stringify(errors)).toBeUndefined();
      expect(data).toStrictEqual(answers[i]);
    }
    const [call, answer] = answers.slice(4);
    expect(await gateway.call('C', 'memory_store', call)).toMatchObject(answer);
  });

  it('has SQL that runs', async () => {
    const answers = await runBlocks(gateway, page);
    const [saved, decisions, registered, stored] = answers.filter((rows) => rows.length > 0);
    expect(saved).toStrictEqual([{ status: 'inserted' }]);
    expect(decisions).toStrictEqual([{ title: 'One queue for all jobs', rationale: 'Two queues starved each other.' }]);
    expect(registered).toMatchObject([{ kind: 'incident', identity_fields: ['reference'] }]);
    expect(stored).toStrictEqual([{ status: 'inserted' }]);
  });
});
