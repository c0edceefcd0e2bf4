// Visual Studio Code. Sources, read on 2026-11-26: https://code.visualstudio.com/docs/agents/reference/mcp-configuration (mcp.json of the user
// profile, .vscode/mcp.json), https://code.visualstudio.com/docs/agent-customization/agent-skills and
// https://docs.github.com/en/copilot/how-tos/use-copilot-agents/cloud-agent/create-skills (skills).
// Not here: hooks, which are a preview, and profiles other than the default one.
import { join } from 'node:path';
import { type Editor, hookSpecificOutput, mcpCommand, programSettings, SERVER } from './editor.ts';
import { skillFile } from './skill.ts';

export const vscode: Editor = {
  name: 'vscode',
  title: 'VS Code',
  actor: { caller: 'vscode', creator: 'VS-Code', source: 'vscode', agent: 'copilot' },
  traces: (place) => [join(programSettings(place), 'Code', 'User')],
  hooks: {},
  answer: hookSpecificOutput,
  changes: (place, launch) => [
    {
      kind: 'value',
      file:
        place.project === null
          ? join(programSettings(place), 'Code', 'User', 'mcp.json')
          : join(place.project, '.vscode', 'mcp.json'),
      path: ['servers', SERVER],
      value: { type: 'stdio', ...mcpCommand(launch, 'vscode') },
    },
    skillFile(
      place.project === null ? join(place.home, '.copilot', 'skills') : join(place.project, '.github', 'skills'),
    ),
  ],
};
