// plugin/ by the schemas of both formats. They are restated here: https://agent-plugins.org/schemas/1.0.0/plugin.schema.json and
// mcp.schema.json, https://agentskills.io/specification, and https://code.claude.com/docs/en/plugins-reference, all read on 2026-11-26.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { describePlugin } from '../../../scripts/generate/plugin.ts';
import { claudeCode } from '../../src/editors/claude-code.ts';
import { isOurHook } from '../../src/editors/editor.ts';
import { SKILL } from '../../src/editors/skill.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const folder = join(root, 'plugin');
const read = (file: string) => readFileSync(join(folder, file), 'utf8');
const readJson = (file: string): unknown => JSON.parse(read(file));
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

const texts = z.record(z.string(), z.string());
const about = {
  name: z
    .string()
    .max(64)
    .regex(/^(?!.*(?:--|\.\.))[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/),
  version: z.string().optional(),
  description: z.string().optional(),
  author: z
    .strictObject({ name: z.string().optional(), email: z.string().optional(), url: z.string().optional() })
    .optional(),
  homepage: z.string().optional(),
  repository: z.string().optional(),
  license: z.string().optional(),
  keywords: z.array(z.string()).optional(),
};
const agentPlugin = z.strictObject({
  $schema: z.literal('https://agent-plugins.org/schemas/1.0.0/plugin.schema.json'),
  ...about,
  extensions: z.record(z.string(), z.record(z.string(), z.unknown())).optional(),
});
const agentServers = z.strictObject({
  $schema: z.literal('https://agent-plugins.org/schemas/1.0.0/mcp.schema.json'),
  mcpServers: z.record(
    z.string(),
    z.discriminatedUnion('type', [
      z.strictObject({
        type: z.literal('stdio'),
        command: z.string().min(1),
        args: z.array(z.string()).optional(),
        env: texts.refine((env) => !('PLUGIN_ROOT' in env || 'PLUGIN_DATA' in env)).optional(),
        cwd: z
          .string()
          .regex(/^(?:\.\/|\$\{PLUGIN_(?:ROOT|DATA)\}(?:\/|$))/)
          .optional(),
      }),
      z.strictObject({ type: z.literal('streamable-http'), url: z.string().min(1), headers: texts.optional() }),
      z.strictObject({ type: z.literal('sse'), url: z.string().min(1), headers: texts.optional() }),
    ]),
  ),
});
const paths = z.union([z.string().startsWith('./'), z.array(z.string().startsWith('./'))]);
const claudePlugin = z.strictObject({
  ...about,
  name: z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/),
  author: z.strictObject({ name: z.string(), email: z.string().optional(), url: z.string().optional() }).optional(),
  ...Object.fromEntries(
    ['commands', 'agents', 'skills', 'hooks', 'outputStyles', 'lspServers'].map((name) => [name, paths.optional()]),
  ),
  mcpServers: z.record(
    z.string(),
    z.strictObject({
      type: z.literal('stdio').optional(),
      command: z.string().min(1),
      args: z.array(z.string()).optional(),
      env: texts.optional(),
    }),
  ),
});
const claudeHooks = z.strictObject({
  description: z.string().optional(),
  hooks: z.partialRecord(
    z.enum(['SessionStart', 'UserPromptSubmit', 'PreCompact', 'SessionEnd', 'PreToolUse', 'PostToolUse', 'Stop']),
    z
      .array(
        z.strictObject({
          matcher: z.string().optional(),
          hooks: z
            .array(
              z.strictObject({
                type: z.literal('command'),
                command: z.string().min(1),
                timeout: z.number().positive(),
              }),
            )
            .min(1),
        }),
      )
      .min(1),
  ),
});
const marketplace = z.strictObject({
  name: z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/),
  owner: z.strictObject({ name: z.string(), email: z.string().optional() }),
  plugins: z
    .array(
      z.strictObject({ name: z.string(), source: z.string().startsWith('./'), description: z.string().optional() }),
    )
    .min(1),
});

const filesBelow = (path: string): string[] =>
  readdirSync(path).flatMap((name) =>
    statSync(join(path, name)).isDirectory() ? filesBelow(join(path, name)) : [join(path, name)],
  );

describe('the folder plugin', () => {
  it('holds what `npm run generate` writes, and nothing else', () => {
    const generated = describePlugin(root);
    for (const [file, text] of Object.entries(generated))
      expect(readFileSync(join(root, file), 'utf8'), file).toBe(text);
    expect(filesBelow(folder).sort()).toStrictEqual(
      Object.keys(generated)
        .filter((file) => file.startsWith('plugin/'))
        .map((file) => join(root, file))
        .sort(),
    );
  });

  it('is an Agent Plugin', () => {
    expect(agentPlugin.parse(readJson('plugin.json'))).toMatchObject({ name: 'l9-memory', version: manifest.version });
    const { mcpServers } = agentServers.parse(readJson('mcp.json'));
    expect(mcpServers).toStrictEqual({
      'l9-memory': { type: 'stdio', command: 'npx', args: ['-y', 'l9-memory', 'mcp'] },
    });
  });

  it('is a plugin of Claude Code, with the hooks that `install` writes', () => {
    const { name, version, mcpServers } = claudePlugin.parse(readJson('.claude-plugin/plugin.json'));
    expect([name, version]).toStrictEqual(['l9-memory', manifest.version]);
    expect(mcpServers['l9-memory']!.args).toStrictEqual(['-y', 'l9-memory', 'mcp', '--caller', 'claude-code']);
    const { hooks } = claudeHooks.parse(readJson('hooks/hooks.json'));
    expect(Object.keys(hooks).sort()).toStrictEqual(Object.keys(claudeCode.hooks).sort());
    for (const [event, groups] of Object.entries(hooks))
      for (const group of groups) expect(isOurHook(group, 'claude-code'), event).toBe(true);
  });

  it('has a skill with a name and a description alone, in a folder of its name', () => {
    const text = read('skills/l9-memory/SKILL.md');
    expect(text).toBe(SKILL);
    const [, front] = /^---\n([\s\S]*?)\n---\n/.exec(text)!;
    const fields = Object.fromEntries(front!.split('\n').map((line) => line.split(/: (.*)/s).slice(0, 2)));
    expect(Object.keys(fields)).toStrictEqual(['name', 'description']);
    expect(fields.name).toBe('l9-memory');
    expect(fields.description.length).toBeLessThanOrEqual(1024);
  });

  it('is offered by the marketplace of the repository', () => {
    const { plugins } = marketplace.parse(
      JSON.parse(readFileSync(join(root, '.claude-plugin', 'marketplace.json'), 'utf8')),
    );
    for (const { name, source } of plugins) {
      expect(
        claudePlugin.parse(JSON.parse(readFileSync(join(root, source, '.claude-plugin', 'plugin.json'), 'utf8'))).name,
      ).toBe(name);
    }
  });
});
