// Claude Desktop. Source, read on 2026-11-26: https://modelcontextprotocol.io/docs/develop/connect-local-servers (claude_desktop_config.json
// on macOS and Windows). On Linux programs of others use the same file below ~/.config.
// It has neither hooks nor settings of a project, and it takes skills as uploads only.
import { join } from 'node:path';
import { type Editor, hookSpecificOutput, mcpCommand, programSettings, SERVER } from './editor.ts';

export const claudeDesktop: Editor = {
  name: 'claude-desktop',
  title: 'Claude Desktop',
  actor: { caller: 'claude-desktop', creator: 'Claude-Desktop', source: 'claude-desktop', agent: 'claude' },
  traces: (place) => [join(programSettings(place), 'Claude')],
  hooks: {},
  answer: hookSpecificOutput,
  changes: (place, launch) =>
    place.project !== null
      ? null
      : [
          {
            kind: 'value',
            file: join(programSettings(place), 'Claude', 'claude_desktop_config.json'),
            path: ['mcpServers', SERVER],
            value: mcpCommand(launch, 'claude-desktop'),
          },
        ],
};
