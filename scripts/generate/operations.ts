// docs/reference/operations.md: the operations that callers can use.
import { camelCase } from '../../gateway/src/operations/graphql-types.ts';
import { operations } from '../../gateway/src/operations/index.ts';
import { markdownTable } from './catalogue.ts';

/** The page as Markdown. */
export const describeOperations = () => `# Operations

\`npm run generate\` writes this page from the operations of the gateway, and a test compares the two. An operation is one SQL function
behind an MCP tool and a GraphQL field of the same name. GraphQL offers more: connections of all tables that the caller may read, and the
functions of administrators; see [gateway/schema.graphql](../../gateway/schema.graphql).

MCP lists the tools of the set \`core\`, because models read that list again and again. \`l9-memory mcp --tools core,knowledge\` and
\`/mcp?tools=core,knowledge\` list other sets, \`all\` lists every tool. A tool that is not listed is answered all the same, unless the
key is cut down to other sets ([API keys](../how-to/manage-identities.md#api-keys)). The tools \`saveMemory\`, \`searchMemory\`,
\`memory.store\`, \`memory.find\`, \`getMemoryStats\` and \`deleteExpiredMemories\`, which older clients call, are answered like those of today's names, with the
arguments that such clients send: camelCase names, \`scope: { org, project, branch }\`, \`top_k\`, \`types\`, \`filters\`; one item without a list, \`type\` and
\`payload\`, or the fields of a kind beside it.

${markdownTable(
  ['MCP tool', 'set', 'GraphQL', 'SQL function', 'what it does'],
  operations.map(({ name, toolSet, isReadOnly, sqlFunction, title, description }) => [
    `\`${name}\``,
    toolSet,
    `${isReadOnly ? 'query' : 'mutation'} \`${camelCase(name)}\``,
    `\`${sqlFunction}\``,
    `**${title}.** ${description}`,
  ]),
)}
`;
