// plugin/: one folder that is a plugin of Claude Code and an Agent Plugin, made of what `l9-memory install` writes for Claude Code.
// Sources, read on 2026-11-26: https://code.claude.com/docs/en/plugins-reference (.claude-plugin/plugin.json, in which servers may stand;
// hooks/hooks.json and skills/ are found by their places), https://code.claude.com/docs/en/plugin-marketplaces (marketplace.json), and
// https://github.com/agentplugins/agent-plugins-spec/blob/main/spec/1.0.0.md (plugin.json, mcp.json, skills/; version 1.0.0 of 2026-08-06).
// Claude Code reads no plugin.json at the top, and clients of Agent Plugins nothing in .claude-plugin or hooks.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { claudeCode } from '../../gateway/src/editors/claude-code.ts';
import { type Launch, mcpCommand, type Place, SERVER } from '../../gateway/src/editors/editor.ts';

const SCHEMAS = 'https://agent-plugins.org/schemas/1.0.0';
/** Whoever installs the folder has Node, and perhaps not the package. */
const LAUNCH: Launch = { command: 'npx', args: ['-y', 'l9-memory'], home: null, platform: 'linux' };
const PLACE: Place = { home: '', project: '', platform: 'linux', env: {} };

interface Package {
  name: string;
  version: string;
  description: string;
  license: string;
  repository: { url: string };
  keywords: string[];
}

const json = (value: object) => `${JSON.stringify(value, null, 2)}\n`;

/** The files of the folder, and of the marketplace that offers it, by their paths in the repository. */
export function describePlugin(root: string): Record<string, string> {
  const { name, version, description, license, repository, keywords }: Package = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  );
  const source = repository.url.replace(/^git\+|\.git$/g, '');
  const about = { name, version, description, homepage: source, repository: source, license, keywords };

  const changes = claudeCode.changes(PLACE, LAUNCH)!;
  const [server] = changes.flatMap((change) => (change.kind === 'value' ? [change.value] : []));
  const hooks: Record<string, unknown[]> = {};
  for (const change of changes) {
    if (change.kind !== 'item') continue;
    const event = change.path.at(-1)!;
    hooks[event] = [...(hooks[event] ?? []), change.value];
  }
  const [skill] = changes.flatMap((change) => (change.kind === 'text' ? [change.text] : []));

  return {
    'plugin/.claude-plugin/plugin.json': json({ ...about, mcpServers: { [SERVER]: server } }),
    'plugin/hooks/hooks.json': json({ hooks }),
    'plugin/plugin.json': json({ $schema: `${SCHEMAS}/plugin.schema.json`, ...about }),
    // Many clients install this one, so none of them is named: each is known by the name that it gives itself.
    'plugin/mcp.json': json({
      $schema: `${SCHEMAS}/mcp.schema.json`,
      mcpServers: { [SERVER]: { type: 'stdio', ...mcpCommand(LAUNCH, null) } },
    }),
    'plugin/skills/l9-memory/SKILL.md': skill!,
    '.claude-plugin/marketplace.json': json({
      name,
      owner: { name },
      plugins: [{ name, source: './plugin', description }],
    }),
  };
}
