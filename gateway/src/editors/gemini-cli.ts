// Gemini CLI. Sources, read on 2026-11-26: https://geminicli.com/docs/reference/configuration (settings.json, mcpServers),
// https://geminicli.com/docs/hooks/reference (timeouts in milliseconds), https://geminicli.com/docs/cli/using-agent-skills.
// It does not wait for SessionEnd and PreCompress. `transcript_path` names the session, which `archive/formats/gemini-cli.ts` reads.
import { join } from 'node:path';
import { type Editor, groupedHooks, hookSpecificOutput, mcpCommand, type Place, SERVER } from './editor.ts';
import { skillFile } from './skill.ts';

const settings = ({ home, project }: Place) => join(project ?? home, '.gemini');
const TIMEOUTS = { SessionStart: 15_000, BeforeAgent: 5_000, PreCompress: 10_000, SessionEnd: 10_000 };

export const geminiCli: Editor = {
  name: 'gemini-cli',
  title: 'Gemini CLI',
  actor: { caller: 'gemini-cli', creator: 'Gemini-CLI', source: 'gemini-cli', agent: 'gemini' },
  traces: (place) => [settings({ ...place, project: null })],
  hooks: { SessionStart: 'start', BeforeAgent: 'prompt', PreCompress: 'archive', SessionEnd: 'archive' },
  answer: hookSpecificOutput,
  changes: (place, launch) => {
    const file = join(settings(place), 'settings.json');
    return [
      { kind: 'value', file, path: ['mcpServers', SERVER], value: mcpCommand(launch, 'gemini-cli') },
      ...groupedHooks(file, 'gemini-cli', launch, TIMEOUTS, { name: SERVER }),
      skillFile(join(settings(place), 'skills')),
    ];
  },
};
