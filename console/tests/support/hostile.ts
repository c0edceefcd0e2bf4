// Memories that try to be more than text, and what shows whether one of them succeeded.
import type { Page } from 'playwright-core';

export const HOSTILE: readonly string[] = [
  '<img src=x onerror="window.hacked=1">',
  '<script>window.hacked=1</script>',
  '"><svg onload="window.hacked=1"></svg>',
  '<a href="javascript:window.hacked=1">open</a>',
  '</textarea></title><iframe srcdoc="<script>parent.hacked=1</script>"></iframe>',
  '**<b onmouseover="window.hacked=1">bold</b>**',
  '{{constructor.constructor("window.hacked=1")()}}',
  '<style>body{display:none}</style>',
  '\u202egnirts lacol\u202c [link](javascript:window.hacked=1)',
];

/** The elements and scripts that a hostile memory added to the page. */
export const injected = (page: Page): Promise<unknown> =>
  page.evaluate(`[
    window.hacked ?? null,
    document.querySelectorAll('main :is(img, iframe, script, style, object, embed, b), main a[href^="javascript"]').length,
    getComputedStyle(document.body).display,
  ]`);

export const NOTHING_INJECTED = [null, 0, 'block'];
