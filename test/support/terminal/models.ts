/** What a setup sees of an Ollama server: the list of its models. */

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** Origin of a server with these models; it ends with the test. */
export async function startModels(...names: string[]): Promise<string> {
  const list = JSON.stringify({ models: names.map((name) => ({ name })) });
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(list);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  // A server that listens on a port has an address with one.
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
