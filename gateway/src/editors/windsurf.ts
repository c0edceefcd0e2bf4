// Windsurf. Sources, read on 2026-11-26: https://docs.windsurf.com/windsurf/cascade/mcp (mcp_config.json, of the user only),
// https://docs.windsurf.com/windsurf/cascade/skills. Not here: its hooks, which can refuse a prompt but can't add to it.
import { join } from 'node:path';
import { type Change, type Editor, hookSpecificOutput, mcpCommand, type Place, SERVER } from './editor.ts';
import { skillFile } from './skill.ts';

const settings = ({ home }: Place) => join(home, '.codeium', 'windsurf');

export const windsurf: Editor = {
  name: 'windsurf',
  title: 'Windsurf',
  actor: { caller: 'windsurf', creator: 'Windsurf', source: 'windsurf', agent: 'cascade' },
  traces: (place) => [settings(place)],
  hooks: {},
  answer: hookSpecificOutput,
  changes: (place, launch): Change[] =>
    place.project !== null
      ? [skillFile(join(place.project, '.windsurf', 'skills'))]
      : [
          {
            kind: 'value',
            file: join(settings(place), 'mcp_config.json'),
            path: ['mcpServers', SERVER],
            value: mcpCommand(launch, 'windsurf'),
          },
          skillFile(join(settings(place), 'skills')),
        ],
};
