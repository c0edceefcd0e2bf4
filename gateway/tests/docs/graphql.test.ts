// docs/reference/graphql.md: its requests run as they are written, and its tables are those of the gateway.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { filterableColumns } from '../../src/graphql/plugins/filters.ts';
import { cheapEmbedder } from '../access/attacker.ts';
import { useTestGateway } from '../support/gateway.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const page = readFileSync(join(root, 'docs', 'reference', 'graphql.md'), 'utf8');
const schema = readFileSync(join(root, 'gateway', 'schema.graphql'), 'utf8');
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(([, body]) => body!);
/** The names that the rows of a table hold, by the first cell. */
const cells = (first: string) =>
  [...new RegExp(`^\\| ${first} \\| (.+) \\|$`, 'm').exec(page)![1]!.matchAll(/`(\w+)`/g)].map(([, name]) => name!);

describe('docs/reference/graphql.md', () => {
  const gateway = useTestGateway({ embedder: cheapEmbedder });

  it('has requests that run, and the answer that they get', async () => {
    const [save, filter, writers] = blocks('graphql');
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

  it('names every filterable column', () => {
    const connections = {
      memories: ['Memory', 'packet_store'],
      facts: ['Fact', 'knowledge_facts'],
      entityRelationships: ['EntityRelationship', 'entity_relationships'],
      auditLogs: ['AuditLog', 'audit_log'],
    } as const;
    expect(Object.values(connections).map(([, table]) => table)).toStrictEqual(Object.keys(filterableColumns));
    for (const [connection, [type]] of Object.entries(connections)) {
      const body = new RegExp(`^input ${type}Filter {([\\s\\S]*?)^}`, 'm').exec(schema)![1]!;
      const fields = [...body.matchAll(/^ {2}(\w+): (?:String|UUID|Datetime|Float)Filter$/gm)].map(([, name]) => name!);
      expect(cells(`\`${connection}\``).toSorted(), connection).toStrictEqual(fields.toSorted());
    }
  });

  it('states the limits of the code', () => {
    const plugins = join(root, 'gateway', 'src', 'graphql', 'plugins');
    const limits = readFileSync(join(plugins, 'limits.ts'), 'utf8');
    const limit = (name: string) => Number(new RegExp(`${name}(?: =|:) ([\\d_]+)`).exec(limits)![1]!.replace('_', ''));
    for (const [row, stated] of [
      ['tokens of the document', `${limit('MAX_TOKENS')}`],
      ['brackets inside each other', `${limit('MAX_NESTING')}`],
      ['fields, counted .*', `${limit('MAX_FIELDS')}, of them ${limit('MAX_ROOT_FIELDS')} at the top`],
      ['depth of fields', `${limit('maxDepth')}, of them ${limit('maxListDepth')} lists`],
      ['conditions in all filters, .*', `${limit('MAX_FILTER_CONDITIONS')}`],
      ['brackets inside each other in one filter', `${limit('MAX_FILTER_NESTING')}`],
    ] as const)
      expect(page).toMatch(new RegExp(`^\\| ${row} \\| ${stated} \\|$`, 'm'));
  });
});
