import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A port that passes connections on to a server of a database, and can be closed or stopped without touching other databases. */
export interface Relay {
  /** The URL of the database through this port. */
  url: string;
  /** Breaks all connections and takes no others until `open`. */
  close(): void;
  open(): Promise<void>;
  /** Lets nothing through, as if the server hung; connections stay open. */
  stop(): void;
  resume(): void;
}

export async function startRelay(databaseUrl: string): Promise<Relay> {
  const target = new URL(databaseUrl);
  const through = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let isStopped = false;
  let port = 0;
  const listen = async () => {
    const server = createServer((socket) => {
      const other = connect(Number(target.port || 5432), target.hostname);
      for (const one of [socket, other]) {
        sockets.add(one);
        one.on('error', () => {}).on('close', () => sockets.delete(one));
      }
      socket.pipe(other).pipe(socket);
      if (isStopped) socket.pause();
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as { port: number }).port;
    return server;
  };
  let server = await listen();
  through.hostname = '127.0.0.1';
  through.port = String(port);
  return {
    url: through.href,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
    async open() {
      server = await listen();
    },
    stop() {
      isStopped = true;
      for (const socket of sockets) socket.pause();
    },
    resume() {
      isStopped = false;
      for (const socket of sockets) socket.resume();
    },
  };
}
