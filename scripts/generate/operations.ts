// docs/reference/operations.md: what callers can do, from the list of operations.
import { camelCase } from '../../gateway/src/operations/graphql-types.ts';
import { operations } from '../../gateway/src/operations/index.ts';
import { markdownTable } from './catalogue.ts';

/** The page as Markdown. */
export const describeOperations = () => `# Operations

\`npm run generate\` writes this page from the operations of the gateway, and a test compares the two. An operation is one SQL function
behind an MCP tool and a GraphQL field of the same name. GraphQL offers more: connections of all tables that the caller may read, and the
functions of administrators; see [gateway/schema.graphql](../../gateway/schema.graphql).

${markdownTable(
  ['MCP tool', 'GraphQL', 'SQL function', 'what it does'],
  operations.map(({ name, isReadOnly, sqlFunction, title, description }) => [
    `\`${name}\``,
    `${isReadOnly ? 'query' : 'mutation'} \`${camelCase(name)}\``,
    `\`${sqlFunction}\``,
    `**${title}.** ${description}`,
  ]),
)}
`;
