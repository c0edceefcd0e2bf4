import { Duplex } from 'node:stream';
import pg from 'pg';
import type { Engine } from './engine.ts';
import { greeting, messageReader } from './wire.ts';

/**
 * A pool of one client, because the engine has one session. A client that breaks is replaced by one of the current engine. `limitMs` is
 * asked for each statement: how long it may take.
 */
export function enginePool(current: () => Engine, limitMs: () => number | null = () => null): pg.Pool {
  const config = {
    stream: () => new EngineStream(current(), limitMs),
    ssl: false,
    max: 1,
    idleTimeoutMillis: 0,
    pipeline: true,
  };
  return new pg.Pool(config as unknown as pg.PoolConfig);
}

/** What pg takes for the socket of a server: the session of the embedded engine. */
class EngineStream extends Duplex {
  readonly #engine: Engine;
  readonly #limitMs: () => number | null;
  readonly #read = messageReader();
  /** Messages since the last round trip. */
  #batch: Buffer[] = [];

  constructor(engine: Engine, limitMs: () => number | null) {
    super();
    this.#engine = engine;
    this.#limitMs = limitMs;
  }

  connect(): void {
    process.nextTick(() => this.emit('connect'));
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error) => void): void {
    try {
      for (const { type, bytes } of this.#read(chunk)) this.#take(type, bytes);
      done();
    } catch (error) {
      done(error as Error);
    }
  }

  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error) => void): void {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), 'buffer' as BufferEncoding, done);
  }

  override _read(): void {}

  override _final(done: () => void): void {
    this.push(null);
    done();
  }

  #take(type: string, bytes: Buffer): void {
    if (type === 'startup') this.push(greeting({}));
    if (type === 'startup' || type === 'X') return;
    this.#batch.push(bytes);
    if (type !== 'Q' && type !== 'S' && type !== 'H') return;
    const messages = Buffer.concat(this.#batch);
    this.#batch = [];
    this.#engine
      .execute(messages, (part) => this.push(part), this.#limitMs())
      .catch((error: Error) => this.destroy(error));
  }

  // Of a socket, but without a meaning here.
  setNoDelay(): this {
    return this;
  }
  setKeepAlive(): this {
    return this;
  }
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
}
