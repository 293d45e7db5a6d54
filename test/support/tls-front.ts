/** TLS in front of a server on loopback, at an address of this machine that its containers reach as well. Ends with the test. */

import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { createServer, type TLSSocket } from "node:tls";
import { onTestFinished } from "vitest";
import type { Identity } from "./certificates.ts";

/** `server`: scheme, host and port. Resolves with those of the front. */
export async function tlsFront(server: string, address: string, { cert, key }: Identity): Promise<string> {
  const { hostname, port } = new URL(server);
  const open = new Set<TLSSocket>();
  const front = createServer({ cert, key }, (outer) => {
    open.add(outer);
    outer.once("close", () => open.delete(outer));
    const inner = connect(Number(port), hostname);
    // Either end may go at any time, and takes the other one with it.
    for (const [end, other] of [
      [outer, inner],
      [inner, outer],
    ] as const) {
      end.on("error", () => undefined).once("close", () => other.destroy());
      end.pipe(other);
    }
  });
  front.listen(0, address);
  await once(front, "listening");
  onTestFinished(async () => {
    front.close();
    for (const socket of open) socket.destroy();
    await once(front, "close");
  });
  // A server that listens on a port has the address of one.
  return `https://${address}:${(front.address() as AddressInfo).port}`;
}
