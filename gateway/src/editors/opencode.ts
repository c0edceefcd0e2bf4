// OpenCode. Sources, read on 2026-11-26: https://opencode.ai/docs/config (JSON or JSONC, global and in the project),
// https://opencode.ai/docs/mcp-servers (type local, the command as one list), https://opencode.ai/docs/skills.
// Not here: hooks, which are plugins in JavaScript there.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Editor, hookSpecificOutput, mcpCommand, type Place, SERVER } from './editor.ts';
import { skillFile } from './skill.ts';

const globalSettings = ({ home, env }: Place) => join(env.XDG_CONFIG_HOME || join(home, '.config'), 'opencode');

/** It reads both files, so the one that is there is changed. */
const configIn = (folder: string) =>
  ['opencode.jsonc', 'opencode.json'].map((name) => join(folder, name)).find((file) => existsSync(file)) ??
  join(folder, 'opencode.json');

export const opencode: Editor = {
  name: 'opencode',
  title: 'OpenCode',
  actor: { caller: 'opencode', creator: 'OpenCode', source: 'opencode', agent: 'opencode' },
  traces: (place) => [globalSettings(place)],
  hooks: {},
  answer: hookSpecificOutput,
  changes: (place, launch) => {
    const { command, args } = mcpCommand(launch, 'opencode');
    return [
      {
        kind: 'value',
        file: configIn(place.project ?? globalSettings(place)),
        path: ['mcp', SERVER],
        value: { type: 'local', command: [command, ...args], enabled: true },
      },
      skillFile(
        place.project === null ? join(globalSettings(place), 'skills') : join(place.project, '.opencode', 'skills'),
      ),
    ];
  },
};
