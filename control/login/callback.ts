/** Listens on this machine for the browser that comes back from a login. */

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { RuntimeError } from "../../runtime/contracts/errors.ts";

/** What the browser shows. */
export interface Page {
  readonly status: number;
  readonly text: string;
}

export interface Callback {
  readonly redirectUri: string;
  close(): Promise<void>;
}

const PATH = "/callback";

/** `port` 0 takes a free one. RUNTIME_START_FAILED when the port is taken. */
export async function listenForAnswer(
  port: number,
  answered: (answer: URLSearchParams) => Promise<Page>,
): Promise<Callback> {
  let host = "";
  const server = createServer((request, response) => {
    handle(request, host, answered).then(
      (page) => show(response, page),
      () => show(response, { status: 500, text: "The login failed. The terminal says why." }),
    );
  });
  server.listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch (cause) {
    throw new RuntimeError("RUNTIME_START_FAILED", `Port ${port} of 127.0.0.1 is taken.`, {
      cause,
      hint: "Choose another with --port, or leave it out for a free one.",
    });
  }
  // A server that listens on a port has an address of this kind.
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    redirectUri: `http://${host}${PATH}`,
    async close() {
      server.close();
      // The page that is on its way arrives; a browser's idle connection does not hold the command up.
      server.closeIdleConnections();
      const late = setTimeout(() => server.closeAllConnections(), 1_000);
      await once(server, "close");
      clearTimeout(late);
    },
  };
}

async function handle(
  request: IncomingMessage,
  host: string,
  answered: (answer: URLSearchParams) => Promise<Page>,
): Promise<Page> {
  const url = URL.parse(request.url ?? "", `http://${host}`);
  // Another name for this address is how a foreign page would get here.
  if (url === null || request.headers.host !== host || url.pathname !== PATH) {
    return { status: 404, text: "There is nothing here." };
  }
  if (request.method !== "GET") return { status: 405, text: "This is for the browser that comes back from a login." };
  return answered(url.searchParams);
}

function show(response: ServerResponse, { status, text }: Page): void {
  response.writeHead(status, {
    "content-type": "text/plain; charset=utf-8",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    connection: "close",
  });
  response.end(`${text}\n`);
}
