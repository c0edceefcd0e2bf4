// The page of review_queue for hosts of MCP Apps: how a host gets it, and what its script does with hostile contents.
import { runInNewContext } from 'node:vm';
import { REVIEW_WIDGET, reviewWidget } from '../../src/mcp/review-widget.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

const HOSTILE = '<img src=x onerror=alert(1)></script><script>alert(2)</script>';
const item = {
  ...{ packet_id: 'p1', kind: HOSTILE, content: HOSTILE, is_truncated: false, scope: HOSTILE, project_id: null },
  ...{ creator: HOSTILE, created_at: '2026-11-26T03:00:00+00:00', updated_at: '2026-11-26T03:00:00.123456+00:00' },
  duplicates: [{ similarity: 0.9, creator: 'L-CTO', content: HOSTILE }],
  contradictions: [{ creator: 'L-CTO', subject: HOSTILE, predicate: 'is', present_object: { a: HOSTILE } }],
  rejected_before: [{ review_reason: HOSTILE }],
};

/** As much of a document as the page uses. A property that would take HTML throws. */
class FakeNode {
  readonly tag: string;
  children: FakeNode[] = [];
  textContent = '';
  value = '';
  listeners = new Map<string, (event: unknown) => void>();
  constructor(tag: string) {
    this.tag = tag;
  }
  set innerHTML(_: string) {
    throw new Error('contents must not become HTML');
  }
  append(...nodes: FakeNode[]) {
    this.children.push(...nodes);
  }
  replaceChildren(...nodes: FakeNode[]) {
    this.children = nodes;
  }
  setAttribute() {}
  addEventListener(name: string, listener: (event: unknown) => void) {
    this.listeners.set(name, listener);
  }
  all(): FakeNode[] {
    return [this, ...this.children.flatMap((child) => child.all())];
  }
}

interface Posted {
  id?: number;
  method?: string;
  params?: { name?: string; arguments?: unknown };
}

/** Runs the script of the page with a host that answers its handshake. */
async function openPage() {
  const list = new FakeNode('main');
  const posted: Posted[] = [];
  let hear: (event: { source: unknown; data: unknown }) => void = () => {};
  const parent = { postMessage: (message: Posted) => void posted.push(message) };
  const [, script] = /<script>([\s\S]*)<\/script>/.exec(reviewWidget)!;
  runInNewContext(script!, {
    ...{ parent, Map, Promise, Error, JSON, Math },
    document: {
      ...{ createElement: (tag: string) => new FakeNode(tag), getElementById: () => list },
      documentElement: { style: {}, getBoundingClientRect: () => ({ width: 1, height: 1 }) },
    },
    addEventListener: (_: string, listener: typeof hear) => {
      hear = listener;
    },
    ResizeObserver: class {
      observe() {}
    },
  });
  const tell = async (data: object, source: unknown = parent) => {
    hear({ source, data: { jsonrpc: '2.0', ...data } });
    await new Promise(setImmediate);
  };
  const { id, method } = posted[0]!;
  expect(method).toBe('ui/initialize');
  await tell({ id, result: { hostContext: { theme: 'dark' } } });
  expect(posted[1]).toMatchObject({ method: 'ui/notifications/initialized' });
  return { list, posted, tell };
}

describe('the page of review_queue', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
  });
  afterAll(() => gateway.close());

  it('is named by the tool and read as a resource, by reviewers', async () => {
    const client = await gateway.mcp('L', 'review');
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === 'review_queue')!._meta).toStrictEqual({
      ui: { resourceUri: REVIEW_WIDGET },
    });
    expect((await client.listResources()).resources).toMatchObject([
      { uri: REVIEW_WIDGET, mimeType: 'text/html;profile=mcp-app' },
    ]);
    const { contents } = await client.readResource({ uri: REVIEW_WIDGET });
    expect(contents).toMatchObject([{ uri: REVIEW_WIDGET, mimeType: 'text/html;profile=mcp-app', text: reviewWidget }]);
    await expect(client.readResource({ uri: 'file:///etc/passwd' })).rejects.toThrow(/there is no such resource/);
    const ofAgent = await gateway.mcp('C', 'all');
    expect((await ofAgent.listResources()).resources).toStrictEqual([]);
    await expect(ofAgent.readResource({ uri: REVIEW_WIDGET })).rejects.toThrow(/there is no such resource/);
  });

  it('is small, and loads and contacts nothing', () => {
    expect(Buffer.byteLength(reviewWidget)).toBeLessThan(8_192);
    expect(reviewWidget).not.toMatch(
      /https?:|fetch\(|XMLHttp|import\(|innerHTML|outerHTML|insertAdjacent|document\.write|eval\(| src=/,
    );
  });

  it('shows contents as text, and only those that its host sends', async () => {
    const { list, tell } = await openPage();
    const result = {
      method: 'ui/notifications/tool-result',
      params: { structuredContent: { items: [item], waiting: 1 } },
    };
    await tell(result, {});
    expect(list.children).toStrictEqual([]);
    await tell(result);
    const shown = list.all();
    expect(shown.map(({ tag }) => tag)).not.toContain('img');
    expect(shown.filter(({ textContent }) => textContent.includes(HOSTILE))).toHaveLength(5);
  });

  it('decides by calls of tools, with the version that was shown', async () => {
    const { list, posted, tell } = await openPage();
    await tell({
      method: 'ui/notifications/tool-result',
      params: { structuredContent: { items: [item], waiting: 1 } },
    });
    const named = (text: string) => list.all().find(({ textContent }) => textContent === text)!;
    named('Approve').listeners.get('click')!({});
    const { id, ...call } = posted.at(-1)!;
    expect(call).toMatchObject({
      method: 'tools/call',
      params: { name: 'approve_memory', arguments: { packet_ids: ['p1'], expected_version: item.updated_at } },
    });
    await tell({ id, result: { isError: true, content: [{ type: 'text', text: 'it has changed' }] } });
    expect(named('it has changed')).toBeDefined();
    const form = list.all().find(({ tag }) => tag === 'form')!;
    list.all().find(({ tag }) => tag === 'input')!.value = 'Not so.';
    form.listeners.get('submit')!({ preventDefault() {} });
    expect(posted.at(-1)!.params).toMatchObject({ name: 'reject_memory', arguments: { reason: 'Not so.' } });
    await tell({ id: posted.at(-1)!.id, result: { structuredContent: { decided: [{ status: 'rejected' }] } } });
    expect(named('p1 rejected')).toBeDefined();
  });
});
