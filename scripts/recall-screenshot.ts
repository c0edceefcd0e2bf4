// The picture of what an editor is given: the output of the real hooks, on a page that looks like a terminal.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { runCommand } from '../gateway/tests/support/command.ts';
import type { TestGateway } from '../gateway/tests/support/gateway.ts';

const PROMPT = 'the payment worker still pages us at night, why?';
const HOOK_MS = '60000';
const STYLE = `
  body { margin: 0; background: #14171c; color: #d7dae0; font: 14px/1.5 ui-monospace, 'DejaVu Sans Mono', monospace }
  main { box-sizing: border-box; width: 1240px; padding: 20px 26px }
  pre { margin: 0 0 18px; white-space: pre-wrap }
  b { color: #8fd18b; font-weight: 600 }`;

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/** Writes it. The gateway has the memories of the demo, in the project `shop`. */
export async function shootRecall(browser: Browser, gateway: TestGateway, path: string): Promise<void> {
  const { home } = gateway.home;
  const { url, id } = gateway.instance;
  const holder = { pid: process.pid, url, instance: id, startedAt: new Date().toISOString(), onDemand: false };
  writeFileSync(join(home, 'server.json'), JSON.stringify(holder));
  const folder = mkdtempSync(join(tmpdir(), 'l9-recall-'));
  const cwd = join(folder, 'shop');
  mkdirSync(cwd);
  execFileSync('git', ['init', '-q', '-b', 'main', cwd]);
  const ask = async (event: string, fields: object): Promise<string> => {
    const input = { session_id: 'picture', cwd, hook_event_name: event, ...fields };
    const args = ['hook', 'claude-code', event, '--within', HOOK_MS];
    const { out, err } = await runCommand(args, { home, stdin: JSON.stringify(input), env: { HOME: folder } });
    if (out === '') throw new Error(`the hook ${event} recalled nothing: ${err}`);
    return JSON.parse(out).hookSpecificOutput.additionalContext;
  };
  try {
    const started = await ask('SessionStart', { source: 'startup' });
    const prompted = await ask('UserPromptSubmit', { prompt: PROMPT });
    const page = await browser.newPage({ viewport: { width: 1240, height: 400 } });
    await page.setContent(
      `<style>${STYLE}</style><main><pre><b>$ claude</b></pre><pre>${escaped(started)}</pre>` +
        `<pre><b>&gt; ${escaped(PROMPT)}</b></pre><pre>${escaped(prompted)}</pre></main>`,
    );
    await page.locator('main').screenshot({ path });
    await page.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
}
