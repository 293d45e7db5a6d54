/** A server in this process that plays a model's: it ends with the bench. */

import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import type { BenchContext } from "./bench.ts";

/** Answers the base of its routes, `http://127.0.0.1:<port>/v1`; the listener answers any path. */
export async function startLoopbackServer(context: BenchContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.defer(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  // A TCP server's address is an object.
  const { port } = server.address() as AddressInfo;
  return `http://127.0.0.1:${port}/v1`;
}
