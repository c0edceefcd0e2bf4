// A session of the OpenAI Agents SDK: each item of the conversation is a memory of kind `message`, in a thread of its own.
import type { AgentInputItem, Session } from '@openai/agents';
import type { L9Memory, Memory, StoreItem } from '../index.ts';
import { readAll, requireStored } from './shared.ts';

export interface SessionOptions {
  /** The id of the conversation, which is the `threadId` of its memories. A session that is opened again with it goes on. Default: a new one. */
  sessionId?: string;
  /** The scope of the messages. Default: `developer`. */
  scope?: string;
}

const MOST_AT_ONCE = 500;

/**
 * Keeps the conversation of an agent: `run(agent, 'Hello', { session: new L9Session(memory, { sessionId }) })`. What was said is found
 * by searches, too. An item that looks like it has a secret is refused with `SECRET_FOUND`, and none of its call is kept.
 */
export class L9Session implements Session {
  readonly #memory: L9Memory;
  readonly #sessionId: string;
  readonly #scope: string | undefined;
  #lastMicrosecond = 0;

  constructor(memory: L9Memory, { sessionId = crypto.randomUUID(), scope }: SessionOptions = {}) {
    this.#memory = memory;
    this.#sessionId = sessionId;
    this.#scope = scope;
  }

  async getSessionId(): Promise<string> {
    return this.#sessionId;
  }

  async getItems(limit?: number): Promise<AgentInputItem[]> {
    if (limit !== undefined && limit <= 0) return [];
    return (await this.#messages(limit)).map(itemOf);
  }

  async addItems(items: AgentInputItem[]): Promise<void> {
    for (let first = 0; first < items.length; first += MOST_AT_ONCE) {
      const batch = items.slice(first, first + MOST_AT_ONCE).map((item) => this.#message(item));
      requireStored(await this.#memory.saveMany(batch, { allOrNothing: true }));
    }
  }

  async popItem(): Promise<AgentInputItem | undefined> {
    const [last] = await this.#messages(1);
    if (!last) return undefined;
    await this.#memory.delete(last.packetId);
    return itemOf(last);
  }

  async clearSession(): Promise<void> {
    for (const { packetId } of await this.#messages()) await this.#memory.delete(packetId);
  }

  /** The newest messages, the oldest of them first. */
  async #messages(limit = Number.POSITIVE_INFINITY): Promise<Memory[]> {
    const newestFirst = this.#memory.list({
      filter: { kind: { equalTo: 'message' }, threadId: { equalTo: this.#sessionId } },
      orderBy: ['TIMESTAMP_DESC', 'PRIMARY_KEY_DESC'],
      pageSize: Math.min(limit, 200),
    });
    return (await readAll(newestFirst, limit)).filter(({ envelope }) => 'item' in envelope).reverse();
  }

  #message(item: AgentInputItem): StoreItem {
    const speaker = 'role' in item && typeof item.role === 'string' ? item.role : 'assistant';
    return {
      kind: 'message',
      threadId: this.#sessionId,
      speaker,
      timestamp: this.#nextTime(),
      ...(this.#scope === undefined ? {} : { scope: this.#scope }),
      data: { content: textOf(item), item },
    };
  }

  /** A time for each item, a microsecond apart, because items of one thread are ordered by their times. */
  #nextTime(): string {
    this.#lastMicrosecond = Math.max(Date.now() * 1_000, this.#lastMicrosecond + 1);
    const micros = String(this.#lastMicrosecond % 1_000).padStart(3, '0');
    return new Date(Math.floor(this.#lastMicrosecond / 1_000)).toISOString().replace('Z', `${micros}Z`);
  }
}

const itemOf = ({ envelope }: Memory) => envelope.item as unknown as AgentInputItem;

/** What searches find the item by: what was said, or the item as JSON if it is a call of a tool or the like. */
function textOf(item: AgentInputItem): string {
  const content: unknown = 'content' in item ? item.content : null;
  const parts = Array.isArray(content) ? content : [content];
  const texts = parts.map((part) => (typeof part === 'string' ? part : (part as { text?: unknown } | null)?.text));
  const said = texts.filter((text) => typeof text === 'string').join('\n');
  return said.trim() === '' ? JSON.stringify(item) : said;
}
