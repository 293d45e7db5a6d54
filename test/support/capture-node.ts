/** A node as a capture client sees it: stores each event id of a session once, and answers as the test wants. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import type { CaptureBatch } from "../../runtime/contracts/capture.ts";

export interface CaptureNodeStandIn {
  readonly url: string;
  /** Event ids by session, in the order in which they were stored first. */
  readonly stored: Map<string, string[]>;
  /** Sessions of the requests that were answered, in order. */
  readonly requests: { readonly session: string; readonly events: readonly string[]; readonly finalize: boolean }[];
  /** The batches that were stored, whole. */
  readonly batches: CaptureBatch[];
  /** Status of the next answer; `cut` breaks the connection, before or after the events were stored. */
  answer: (batch: CaptureBatch) => number | "cut" | "cut-after" | "silent";
}

export async function captureNode(): Promise<CaptureNodeStandIn> {
  const stored = new Map<string, string[]>();
  const requests: CaptureNodeStandIn["requests"] = [];
  const batches: CaptureBatch[] = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const batch = JSON.parse(text) as CaptureBatch;
    const answer = node.answer(batch);
    if (answer === "silent") return;
    if (answer === "cut") return void request.socket.destroy();
    if (answer !== 200 && answer !== "cut-after") {
      const error = { code: "RUNTIME_INVALID_REQUEST", message: "no", severity: "error", retryable: false };
      return void response
        .writeHead(answer, { "content-type": "application/json" })
        .end(JSON.stringify({ ok: false, error }));
    }
    const ids = stored.get(batch.session_key) ?? [];
    stored.set(batch.session_key, ids);
    const fresh = batch.events.filter(({ event_id }) => !ids.includes(event_id));
    ids.push(...fresh.map(({ event_id }) => event_id));
    batches.push(batch);
    requests.push({
      session: batch.session_key,
      events: batch.events.map(({ event_id }) => event_id),
      finalize: batch.finalize === true,
    });
    if (answer === "cut-after") return void request.socket.destroy();
    const result = {
      conversation_id: "c",
      inserted: fresh.length,
      deduplicated: batch.events.length - fresh.length,
      truncated: 0,
      finalized: batch.finalize === true,
    };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ ok: true, result }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const node: CaptureNodeStandIn = { url, stored, requests, batches, answer: () => 200 };
  return node;
}
