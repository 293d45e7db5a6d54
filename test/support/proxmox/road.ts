/** The way from an operator to a Proxmox host: a loopback proxy in front of its sshd that can go silent, and be cut. */

import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

export interface Road {
  readonly port: number;
  /** Connections stay open, and no byte passes any more, on new ones either. */
  silence(): void;
  /** Ends every connection, and refuses new ones. */
  cut(): void;
  /** Ends what was silent, and lets new ones through. */
  clear(): void;
  close(): Promise<void>;
}

export async function openRoad(to: number): Promise<Road> {
  const sockets = new Set<Socket>();
  let state: "clear" | "silent" | "cut" = "clear";
  const server = createServer((client) => {
    if (state === "cut") return void client.destroy();
    const host = connect(to, "127.0.0.1");
    const ends = [client, host] as const;
    for (const [from, other] of [ends, [host, client] as const]) {
      sockets.add(from);
      from.on("error", () => from.destroy());
      from.on("close", () => {
        sockets.delete(from);
        other.destroy();
      });
      from.on("data", (bytes) => {
        if (state === "clear") other.write(bytes);
      });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("a listener on TCP has a port");
  const end = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: address.port,
    silence: () => {
      state = "silent";
    },
    cut: () => {
      state = "cut";
      end();
    },
    clear: () => {
      end();
      state = "clear";
    },
    close: async () => {
      end();
      server.close();
      await once(server, "close");
    },
  };
}
