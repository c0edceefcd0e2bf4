// Claude Code. Sources, read on 2026-11-26: https://code.claude.com/docs/en/mcp (servers of a user in ~/.claude.json, of a project in
// .mcp.json), https://code.claude.com/docs/en/hooks (settings.json, timeouts in seconds), https://code.claude.com/docs/en/skills.
// CLAUDE_CONFIG_DIR moves ~/.claude. The documentation does not say for certain where ~/.claude.json is then, so it stays where it is.
import { join } from 'node:path';
import { type Editor, groupedHooks, hookSpecificOutput, mcpCommand, type Place, SERVER } from './editor.ts';
import { skillFile } from './skill.ts';

const settings = ({ home, project, env }: Place) =>
  project === null ? env.CLAUDE_CONFIG_DIR || join(home, '.claude') : join(project, '.claude');

// At the end of a session it waits no longer than a hook asks for.
const TIMEOUTS = { SessionStart: 15, UserPromptSubmit: 5, PreCompact: 10, SessionEnd: 10 };

export const claudeCode: Editor = {
  name: 'claude-code',
  title: 'Claude Code',
  actor: { caller: 'claude-code', creator: 'Claude-Code', source: 'claude-code', agent: 'claude' },
  traces: (place) => [join(place.home, '.claude.json'), settings({ ...place, project: null })],
  hooks: { SessionStart: 'start', UserPromptSubmit: 'prompt', PreCompact: 'archive', SessionEnd: 'archive' },
  answer: hookSpecificOutput,
  changes: (place, launch) => [
    {
      kind: 'value',
      file: place.project === null ? join(place.home, '.claude.json') : join(place.project, '.mcp.json'),
      path: ['mcpServers', SERVER],
      value: { type: 'stdio', ...mcpCommand(launch, 'claude-code') },
    },
    ...groupedHooks(join(settings(place), 'settings.json'), 'claude-code', launch, TIMEOUTS),
    skillFile(join(settings(place), 'skills')),
  ],
};
