/** The service of the page about channels, on loopback: strict about tokens, conversations and lengths. */

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export interface PagerFake {
  readonly url: string;
  readonly token: string;
  readonly sent: {
    readonly id: string;
    readonly to: string;
    readonly text: string;
    readonly files: readonly string[];
  }[];
  say(from: string, text: string): void;
  fault: "none" | "unreachable" | "refused";
  close(): Promise<void>;
}

const MOST_TEXT = 200;
const POLL_MS = 10;

export async function startPagerFake(): Promise<PagerFake> {
  const received: { readonly number: number; readonly from: string; readonly [key: string]: unknown }[] = [];
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const fake: PagerFake = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token: "token-of-the-pager",
    sent: [],
    fault: "none",
    say(from, text) {
      const number = received.length + 1;
      received.push({ number, from, name: from.toUpperCase(), text, at: new Date().toISOString() });
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (fake.fault === "unreachable") return void request.socket.destroy();
    const say = (status: number, body: unknown): void => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    if (request.headers.authorization !== `Bearer ${fake.token}`) return say(401, {});
    const { pathname, searchParams } = new URL(request.url ?? "/", fake.url);
    if (pathname !== "/messages") return say(404, {});
    if (request.method === "GET") {
      const after = Number(searchParams.get("after"));
      const news = () => received.filter(({ number }) => number > after);
      const end = Date.now() + Number(searchParams.get("wait")) * 1_000;
      while (news().length === 0 && Date.now() < end && !response.destroyed) await sleep(POLL_MS);
      return say(200, news());
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { to, text, file } = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    if (fake.fault === "refused" || !received.some(({ from }) => from === to)) return say(404, {});
    if (text.length > MOST_TEXT) return say(413, {});
    if (text.trim() === "" && file === undefined) return say(400, {});
    const id = `p${fake.sent.length + 1}`;
    fake.sent.push({ id, to, text, files: file === undefined ? [] : [file.name] });
    say(201, { id });
  }

  return fake;
}
