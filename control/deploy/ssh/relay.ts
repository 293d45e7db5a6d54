/**
 * A listener on this machine's loopback, each connection of which is carried by a command over `ssh`: a few lines of Node on the other
 * side. Nothing has to be published for it, no tool installed, and the pinned key is that of every other command.
 */

import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import type { Ssh, SshChild } from "./ssh.ts";

/** For `node -e` on the other side, with host and port. */
export const RELAY = `const s = require("node:net").connect(Number(process.argv[2]), process.argv[1]);
process.stdin.pipe(s);
s.pipe(process.stdout);
s.on("error", () => process.exit(1));
s.on("close", () => process.exit(0));`;

export interface Relay {
  readonly port: number;
  close(): void;
}

/** `line` runs RELAY; one process a connection. */
export async function relay(ssh: Pick<Ssh, "open">, line: string): Promise<Relay> {
  const children = new Set<SshChild>();
  const server = createServer((socket) => carry(socket, ssh.open(line), children));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("a listener on TCP has a port");
  return {
    port: address.port,
    close() {
      server.close();
      for (const child of children) child.kill();
    },
  };
}

/** Both ends of a connection end together. */
function carry(socket: Socket, child: SshChild, children: Set<SshChild>): void {
  children.add(child);
  const end = (): void => {
    children.delete(child);
    socket.destroy();
    child.kill();
  };
  socket.once("error", end);
  socket.once("close", end);
  child.stdin.once("error", end);
  child.stdout.once("error", end);
  socket.pipe(child.stdin);
  child.stdout.pipe(socket);
  void child.ended.then(() => socket.end());
}
