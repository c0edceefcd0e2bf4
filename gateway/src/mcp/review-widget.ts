// The page that hosts of MCP Apps (SEP-1865, version 2026-01-26) show beside the answer of review_queue: what waits, with buttons to
// decide. It loads nothing and speaks to its host only. Contents are set as text, never as HTML.

export const REVIEW_WIDGET = 'ui://l9-memory/review-queue';
export const WIDGET_TYPE = 'text/html;profile=mcp-app';

const style = `
:root { color-scheme: light dark; font: 14px/1.4 system-ui, sans-serif; }
body { margin: 8px; }
article { border: 1px solid color-mix(in srgb, currentColor 25%, transparent); border-radius: 6px; padding: 8px 12px; margin: 8px 0; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font: inherit; max-height: 14em; overflow: auto; margin: 4px 0; }
small, .note { opacity: .75; overflow-wrap: anywhere; }
.note { margin: 2px 0; }
form { display: flex; flex-wrap: wrap; gap: 6px; }
input { flex: 1 1 12em; min-width: 8em; }
button, input { font: inherit; padding: 4px 10px; }
`;

const script = `
'use strict';
const pending = new Map();
let last = 0;
const post = (message) => parent.postMessage({ jsonrpc: '2.0', ...message }, '*');
const ask = (method, params) => new Promise((resolve, reject) => {
  pending.set(++last, { resolve, reject });
  post({ id: last, method, params });
});
const make = (tag, text, name) => {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  if (name) node.className = name;
  return node;
};
const valueOf = (value) => typeof value === 'string' ? value : JSON.stringify(value);

const decide = async (article, item, name, more) => {
  const said = make('p', '…', 'note');
  article.replaceChildren(said);
  try {
    const result = await ask('tools/call', {
      name, arguments: { packet_ids: [item.packet_id], expected_version: item.updated_at, ...more },
    });
    said.textContent = result.isError ? result.content[0].text : item.packet_id + ' ' + result.structuredContent.decided[0].status;
    if (result.isError) article.append(...partsOf(article, item));
  } catch (error) {
    said.textContent = error.message;
    article.append(...partsOf(article, item));
  }
};

const partsOf = (article, item) => {
  const where = [item.scope, item.project_id].filter(Boolean).join(', ');
  const form = make('form');
  const approve = make('button', 'Approve');
  approve.type = 'button';
  approve.addEventListener('click', () => decide(article, item, 'approve_memory', {}));
  const reason = make('input');
  reason.placeholder = 'Why not?';
  reason.required = true;
  reason.setAttribute('aria-label', 'Reason to reject it');
  form.append(approve, reason, make('button', 'Reject'));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    decide(article, item, 'reject_memory', { reason: reason.value });
  });
  return [
    make('small', item.kind + ' in ' + where + ' by ' + item.creator + ', ' + item.created_at.slice(0, 16).replace('T', ' ')),
    make('pre', item.content + (item.is_truncated ? ' …' : '')),
    ...item.duplicates.map((it) => make('p', 'Nearly the same (' + it.similarity.toFixed(2) + '), by ' + it.creator + ': ' + it.content, 'note')),
    ...item.contradictions.map((it) => make('p', 'Contradicts ' + it.creator + ': ' + it.subject + ' ' + it.predicate + ' is ' + valueOf(it.present_object), 'note')),
    ...item.rejected_before.map((it) => make('p', 'Rejected before: ' + it.review_reason, 'note')),
    form,
  ];
};

const show = ({ items, waiting }) => {
  const list = document.getElementById('list');
  list.replaceChildren(make('p', waiting === 0 ? 'Nothing waits for a review.' : waiting + (waiting === 1 ? ' memory waits.' : ' memories wait.')));
  for (const item of items) {
    const article = make('article');
    article.append(...partsOf(article, item));
    list.append(article);
  }
};
const dress = (context) => {
  if (context && context.theme) document.documentElement.style.colorScheme = context.theme;
};

addEventListener('message', ({ source, data }) => {
  if (source !== parent || !data || data.jsonrpc !== '2.0') return;
  if (data.method === undefined) {
    const waits = pending.get(data.id);
    pending.delete(data.id);
    if (waits) data.error ? waits.reject(new Error(data.error.message)) : waits.resolve(data.result);
  } else if (data.id !== undefined) post({ id: data.id, result: {} });
  else if (data.method === 'ui/notifications/tool-result' && data.params.structuredContent) show(data.params.structuredContent);
  else if (data.method === 'ui/notifications/host-context-changed') dress(data.params);
});
new ResizeObserver(() => {
  const { width, height } = document.documentElement.getBoundingClientRect();
  post({ method: 'ui/notifications/size-changed', params: { width: Math.ceil(width), height: Math.ceil(height) } });
}).observe(document.documentElement);
ask('ui/initialize', {
  protocolVersion: '2026-01-26', appInfo: { name: 'l9-memory review', version: '1' }, appCapabilities: {},
}).then(({ hostContext }) => {
  dress(hostContext);
  post({ method: 'ui/notifications/initialized', params: {} });
});
`;

export const reviewWidget = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Review of memories</title><style>${style}</style></head>
<body><main id="list" aria-live="polite"><p>Waiting for the queue …</p></main><script>${script}</script></body>
</html>
`;
