// docs/reference/graphql.md: its requests run as they are written, and its tables are those of the gateway.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cheapEmbedder } from '../access/attacker.ts';
import { useTestGateway } from '../support/gateway.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const page = readFileSync(join(root, 'docs', 'reference', 'graphql.md'), 'utf8');
const schema = readFileSync(join(root, 'gateway', 'schema.graphql'), 'utf8');
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(([, body]) => body!);

describe('docs/reference/graphql.md', () => {
  const gateway = useTestGateway({ embedder: cheapEmbedder });

  it('has requests that run, and the answer that they get', async () => {
    const [save, filter, , , writers] = blocks('graphql');
    const saved = await gateway.graphql('C', save!);
    expect(saved.data, JSON.stringify(saved.errors)).toStrictEqual({
      a: { status: 'inserted' },
      b: { status: 'inserted' },
    });
    const { data, errors } = await gateway.graphql('C', filter!);
    expect(errors, JSON.stringify(errors)).toBeUndefined();
    expect(data).toStrictEqual(JSON.parse(blocks('json')[0]!));
    const { searchMemory } = await gateway.query('C', writers!);
    expect(searchMemory.hits[0]).toMatchObject({ creator: 'Cursor-IDE', source: 'cursor-ide', supersededBy: null });
  });

  it('has requests of an administrator that run, and that agents are refused', async () => {
    const [change, read] = blocks('graphql').slice(-3);
    const changed = await gateway.query('L', change!);
    expect(changed.admin).toMatchObject({
      registerActor: { caller: 'ci' },
      createApiKey: { keyId: expect.any(String) },
    });
    const { admin } = await gateway.query('L', read!);
    expect(admin.actors).toMatchObject([{ role: 'l9_agent' }]);
    expect(admin.auditLogs.nodes).toHaveLength(1);
    for (const request of [change!, read!]) {
      const { data, errors } = await gateway.graphql('C', request);
      expect(data).toStrictEqual({ admin: null });
      expect(errors).toMatchObject([{ path: ['admin'], extensions: { code: 'SCOPE_DENIED', sqlstate: 'L9SCP' } }]);
    }
  });

  it('names the lists that have edges, an order or a lookup by key', () => {
    const fields = (type: string) => new RegExp(`^type ${type}.* {([\\s\\S]*?)^}`, 'm').exec(schema)![1]!;
    const named = (start: string) =>
      [...new RegExp(`^${start}[\\s\\S]*?\\.`, 'm').exec(page)![0].matchAll(/`(\w+)`/g)].map(([, name]) => name!);
    const ordered = [...`${fields('Query')}${fields('AdminQuery')}`.matchAll(/orderBy: \[(\w+)OrderBy!\]/g)];
    const types = ordered.map(([, type]) => type!);
    const lists = named('`memories`, `memoryAccesses`').slice(0, -1);
    expect(lists).toHaveLength(types.length);
    const keys = [...fields('Query').matchAll(/^ {2}(\w+By\w+)\(/gm)].map(([, name]) => name!);
    expect(
      named('One row is read')
        .filter((name) => name.includes('By'))
        .toSorted(),
    ).toStrictEqual(keys.toSorted());
    const edges = [...schema.matchAll(/^ {2}edges: \[(\w+)Edge\]!$/gm)].map(([, type]) => type!);
    expect(edges).toStrictEqual(['MemoryAccess', 'Memory']);
  });

  it('states the limits of the code', () => {
    const plugins = join(root, 'gateway', 'src', 'graphql', 'plugins');
    const limits = readFileSync(join(plugins, 'limits.ts'), 'utf8');
    const limit = (name: string) => Number(new RegExp(`${name}(?: =|:) ([\\d_]+)`).exec(limits)![1]!.replace('_', ''));
    for (const [row, stated] of [
      ['tokens of the document', `${limit('MAX_TOKENS')}`],
      ['brackets inside each other', `${limit('MAX_NESTING')}`],
      ['fields, counted .*', `${limit('MAX_FIELDS')}, of them ${limit('MAX_ROOT_FIELDS')} at the top and in \`admin\``],
      ['depth of fields', `${limit('maxDepth')}, of them ${limit('maxListDepth')} lists`],
      ['conditions in all filters, .*', `${limit('MAX_FILTER_CONDITIONS')}`],
      ['brackets inside each other in one filter', `${limit('MAX_FILTER_NESTING')}`],
    ] as const)
      expect(page).toMatch(new RegExp(`^\\| ${row} \\| ${stated} \\|$`, 'm'));
  });
});
