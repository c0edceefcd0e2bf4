// Codex. Sources, read on 2026-11-26: https://developers.openai.com/codex/mcp (config.toml), https://developers.openai.com/codex/hooks
// (hooks.json in the form of Claude Code, timeouts in seconds), https://github.com/openai/codex/pull/33895 (SessionEnd, at most 3 seconds),
// https://developers.openai.com/codex/skills (.agents/skills). CODEX_HOME moves ~/.codex. It asks once whether new hooks are trusted.
import { join } from 'node:path';
import { type Editor, groupedHooks, hookSpecificOutput, mcpCommand, type Place, SERVER } from './editor.ts';
import { skillFile } from './skill.ts';

const settings = ({ home, project, env }: Place) =>
  project === null ? env.CODEX_HOME || join(home, '.codex') : join(project, '.codex');

const TIMEOUTS = { SessionStart: 15, UserPromptSubmit: 5, PreCompact: 10, SessionEnd: 3 };

export const codex: Editor = {
  name: 'codex',
  title: 'Codex',
  actor: { caller: 'codex', creator: 'Codex', source: 'codex', agent: 'codex' },
  traces: (place) => [settings({ ...place, project: null })],
  hooks: { SessionStart: 'start', UserPromptSubmit: 'prompt', PreCompact: 'archive', SessionEnd: 'archive' },
  answer: hookSpecificOutput,
  changes: (place, launch) => [
    {
      kind: 'table',
      file: join(settings(place), 'config.toml'),
      table: ['mcp_servers', SERVER],
      value: mcpCommand(launch, 'codex'),
    },
    ...groupedHooks(join(settings(place), 'hooks.json'), 'codex', launch, TIMEOUTS),
    skillFile(join(place.project ?? place.home, '.agents', 'skills')),
  ],
};
