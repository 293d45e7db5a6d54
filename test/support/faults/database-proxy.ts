/** A loopback proxy in front of PostgreSQL that can kill its client at a marked statement, or be unavailable for a while. */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { type KillPoint, Trap, WireWatcher } from "./wire-watcher.ts";

export interface DatabaseProxy {
  /** The connection string of the database behind, through this proxy. */
  readonly url: string;
  /** Calls `strike` at the point, once; nothing passes after that until `disarm`. */
  arm(point: KillPoint, strike: () => void): void;
  disarm(): void;
  /** Cuts every connection and refuses new ones until `back`. */
  disconnect(): void;
  back(): void;
  close(): Promise<void>;
}

export async function startDatabaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let trap: Trap | null = null;
  let struck = false;
  let refusing = false;
  const watchers = new Set<WireWatcher>();
  /**
   * Nothing passes on other connections while a commit is to be struck: PostgreSQL notifies listeners of it before it answers, and the
   * process would act on the notification before it is killed.
   */
  const passes = (watcher: WireWatcher) =>
    !struck && ![...watchers].some((other) => other !== watcher && other.strikesNext);

  const server = createServer((client) => {
    if (refusing || struck) return void client.destroy();
    const upstream = connect(Number(target.port || 5432), target.hostname);
    const watcher = new WireWatcher(() => trap);
    watchers.add(watcher);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        sockets.delete(socket);
        watchers.delete(watcher);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on("data", (bytes) => {
      watcher.client(bytes);
      if (passes(watcher)) upstream.write(bytes);
    });
    upstream.on("data", (bytes) => {
      watcher.server(bytes);
      if (passes(watcher)) client.write(bytes);
    });
  });
  function cut(): void {
    for (const socket of sockets) socket.destroy();
  }
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(databaseUrl);
  url.hostname = "127.0.0.1";
  url.port = String((server.address() as AddressInfo).port);

  return {
    url: url.href,
    arm(point, onStrike) {
      struck = false;
      trap = new Trap(point, () => {
        if (struck) return;
        struck = true;
        onStrike();
        cut();
      });
    },
    disarm() {
      trap = null;
      struck = false;
    },
    disconnect() {
      refusing = true;
      cut();
    },
    back() {
      refusing = false;
    },
    async close() {
      cut();
      server.close();
      await once(server, "close");
    },
  };
}
