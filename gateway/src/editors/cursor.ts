// Cursor, which is the built-in caller C. Sources, read on 2026-11-26: https://cursor.com/docs/context/mcp (mcp.json),
// https://cursor.com/docs/hooks (hooks.json, version 1, timeouts in seconds), https://cursor.com/docs/context/skills.
// sessionStart answers with `additional_context`, as documented. For beforeSubmitPrompt the page does not list that field, though clients of
// 2026 take it (https://github.com/DietrichGebert/ponytail/blob/main/docs/cursor-hooks.md); others ignore it.
// Not here: sessionEnd, stop and preCompact. Their input may name a `transcript_path`, null in Cursor's command line, but the format of the file is
// documented nowhere and has changed (text, then lines of JSON), so it can't be archived.
import { join } from 'node:path';
import { type Editor, hookCommand, mcpCommand, type Place, SERVER } from './editor.ts';
import { skillFile } from './skill.ts';

const settings = ({ home, project }: Place) => join(project ?? home, '.cursor');
const TIMEOUTS = { sessionStart: 15, beforeSubmitPrompt: 5 };

export const cursor: Editor = {
  name: 'cursor',
  title: 'Cursor',
  actor: { caller: 'C', creator: 'Cursor-IDE', source: 'cursor-ide', agent: 'cursor' },
  traces: (place) => [settings({ ...place, project: null })],
  hooks: { sessionStart: 'start', beforeSubmitPrompt: 'prompt' },
  answer: (event, text) => ({
    ...(event === 'beforeSubmitPrompt' && { continue: true }),
    additional_context: text,
  }),
  changes: (place, launch) => {
    const file = join(settings(place), 'hooks.json');
    return [
      {
        kind: 'value',
        file: join(settings(place), 'mcp.json'),
        path: ['mcpServers', SERVER],
        value: mcpCommand(launch, 'cursor'),
      },
      { kind: 'value', file, path: ['version'], value: 1, isDefault: true },
      ...Object.entries(TIMEOUTS).map(([event, timeout]) => ({
        kind: 'item' as const,
        file,
        path: ['hooks', event],
        value: { command: hookCommand(launch, 'cursor', event), timeout },
      })),
      skillFile(join(settings(place), 'skills')),
    ];
  },
};
