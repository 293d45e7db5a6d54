/** A part of the web on loopback: public addresses and names lead to a server of the test, all others to nothing. */

import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import type { WebNetwork } from "../../runtime/plugins/tools/shared/web/network.ts";
import type { Identity } from "./certificates.ts";

/** One that is public, and one that is another network's. */
export const PUBLIC = "93.184.215.14";
export const PUBLIC_V6 = "2606:2800:21f:cb07:6820:80da:af6b:8b2c";

export interface WebServer {
  readonly port: number;
  /** Paths that were asked for, with the Host header before them. */
  readonly asked: readonly string[];
  /** Bytes that the server's sockets have taken. */
  written(): number;
}

/** Until the end of the test. */
export async function startWebServer(answer: RequestListener, tls?: Identity): Promise<WebServer> {
  const asked: string[] = [];
  let bytes = 0;
  const listener: RequestListener = (request, response) => {
    asked.push(`${request.headers.host}${request.url}`);
    const { socket } = request;
    socket.once("close", () => {
      bytes += socket.bytesWritten;
    });
    answer(request, response);
  };
  const server = tls === undefined ? createServer(listener) : createTlsServer({ ...tls }, listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.close();
    server.closeAllConnections();
  });
  return { port: (server.address() as AddressInfo).port, asked, written: () => bytes };
}

export interface TestWeb {
  /** Names to addresses. Default: every name has `PUBLIC`. */
  readonly resolve?: WebNetwork["resolve"];
  /** Ports of loopback: for connections to port 443, and to all others. */
  readonly port?: number;
  readonly tlsPort?: number;
  readonly ownNetworks?: readonly string[];
  readonly ca?: string;
}

/** Every address that was connected to, in order, and a network that records them. */
export function testNetwork(web: TestWeb): { readonly network: WebNetwork; readonly dialled: string[] } {
  const dialled: string[] = [];
  const { port = 1, tlsPort = 1, ca } = web;
  const network: WebNetwork = {
    resolve: web.resolve ?? (async () => [PUBLIC]),
    route(address, wanted) {
      dialled.push(address);
      return { address: "127.0.0.1", port: wanted === 443 ? tlsPort : port };
    },
    ownNetworks: () => web.ownNetworks ?? [],
    ...(ca === undefined ? {} : { ca }),
  };
  return { network, dialled };
}
