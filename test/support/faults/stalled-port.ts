/** The way to a TCP port of loopback that can fall silent: connections stay open and carry nothing, new ones are accepted and get no word. */

import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

export interface StalledPort {
  /** Where it listens, on 127.0.0.1. */
  readonly port: number;
  silence(): void;
  /** What hung is cut, and new connections get through. */
  speak(): void;
  stop(): void;
}

export async function startStalledPort(target: { readonly host: string; readonly port: number }): Promise<StalledPort> {
  const open = new Set<Socket>();
  let stalled = false;
  const hold = (socket: Socket): void => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    socket.on("error", () => socket.destroy());
  };
  const proxy = createServer((from) => {
    hold(from);
    if (stalled) return;
    const to = connect(target.port, target.host);
    hold(to);
    from.pipe(to).once("close", () => from.destroy());
    to.pipe(from).once("close", () => to.destroy());
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const address = proxy.address();
  const cut = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    silence() {
      stalled = true;
      for (const socket of open) socket.unpipe().pause();
    },
    speak() {
      stalled = false;
      cut();
    },
    stop() {
      cut();
      proxy.close();
    },
  };
}
